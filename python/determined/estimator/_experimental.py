"""What may still change, under ``context.experimental``."""

from __future__ import annotations

from typing import Any

from determined._tensorflow._data_layer import CachingContext
from determined.estimator._metric import MetricMaker


class EstimatorExperimentalContext(CachingContext):
    """Metrics with rules of their own, and cached data sets."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._metrics = MetricMaker(context.distributed)

    def make_metric(self, metric: Any, reducer: Any, numpy_dtype: Any) -> tuple[Any, Any]:
        """A validation metric for ``eval_metric_ops`` that is right on any number of slots.

        ``metric`` is a tensor, a list of tensors or a dict of them. ``reducer`` is a function that gets the list of the
        metric's values of all batches, or a :class:`MetricReducer`. ``numpy_dtype`` is the type of its result.

        Example::

            accuracy = context.experimental.make_metric(hits, lambda batches: np.mean(np.hstack(batches)), np.float32)
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})

        Raises:
            TypeError: the metric is nested or holds no tensors, or the reducer is neither.
        """
        return self._metrics.make(metric, reducer, numpy_dtype)

    def hear_names(self, metric_ops: Any) -> None:
        """Under what names the model function gives its metrics: for errors."""
        self._metrics.hear_names(metric_ops)

    def raise_error_of_reducer(self) -> None:
        """Raises what the user's reducer raised, if one did: TensorFlow makes a text of it."""
        self._metrics.raise_error()
