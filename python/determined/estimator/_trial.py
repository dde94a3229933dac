"""The base class of Estimator trials."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from determined._trial import Trial
from determined.estimator._context import EstimatorTrialContext

ServingInputReceiverFn = Callable[..., Any]
"""Returns a ``ServingInputReceiver`` or a ``TensorServingInputReceiver``."""


class EstimatorTrial(Trial):
    """Subclass this to train a ``tf.estimator.Estimator``, premade or custom.

    Each method is called once, in the order below, after all random number generators are seeded. TensorFlow has the
    behavior of TensorFlow 1, with graphs and sessions.

    Example::

        class MyTrial(EstimatorTrial):
            def build_estimator(self):
                optimizer = self.context.wrap_optimizer(tf.compat.v1.train.AdamOptimizer())
                return tf.compat.v1.estimator.DNNClassifier([64], columns, n_classes=10, optimizer=optimizer)

            def build_train_spec(self):
                return tf.estimator.TrainSpec(lambda: self.context.wrap_dataset(data("train")))

            def build_validation_spec(self):
                return tf.estimator.EvalSpec(lambda: self.context.wrap_dataset(data("test")), steps=None)
    """

    trial_context_class = EstimatorTrialContext

    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_estimator(self) -> Any:
        """Returns the ``tf.estimator.Estimator`` to train. Pass its optimizer through ``context.wrap_optimizer()``."""

    @abc.abstractmethod
    def build_train_spec(self) -> Any:
        """Returns a ``tf.estimator.TrainSpec``. Its ``input_fn`` returns a ``tf.data.Dataset`` that was passed through
        ``context.wrap_dataset()``, and is repeated endlessly. ``max_steps`` has no effect."""

    @abc.abstractmethod
    def build_validation_spec(self) -> Any:
        """Returns a ``tf.estimator.EvalSpec``. ``steps`` batches are evaluated, or all of them if it is None."""

    def build_serving_input_receiver_fns(self) -> dict[str, ServingInputReceiverFn]:
        """Returns serving input receiver functions by name. Each exports a SavedModel into the directory of its name
        in every checkpoint."""
        return {}
