"""``context.experimental``: features that may still change."""

from __future__ import annotations

from typing import Any

from determined._tensorflow._data_layer import CachingContext
from determined.estimator._metric import MetricMaker


class EstimatorExperimentalContext(CachingContext):
    """Custom metrics and cached data sets."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._metrics = MetricMaker(context.distributed)

    def make_metric(self, metric: Any, reducer: Any, numpy_dtype: Any) -> tuple[Any, Any]:
        """A validation metric for ``eval_metric_ops`` that is correct on any number of slots.

        ``metric`` is a tensor, a list of tensors or a dict of tensors. ``reducer`` is a function of the list of the
        metric's values for all batches, or a :class:`MetricReducer`. ``numpy_dtype`` is the type of its result.

        Example::

            accuracy = context.experimental.make_metric(hits, lambda batches: np.mean(np.hstack(batches)), np.float32)
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})

        Raises:
            TypeError: the metric is nested or contains no tensors, or the reducer is neither of these.
        """
        return self._metrics.make(metric, reducer, numpy_dtype)

    def hear_names(self, metric_ops: Any) -> None:
        """Records the names under which the model function returns its metrics, for error messages."""
        self._metrics.hear_names(metric_ops)

    def raise_error_of_reducer(self) -> None:
        """Raises the exception of the user's reducer, if any, because TensorFlow keeps only its text."""
        self._metrics.raise_error()
