"""The base class of Tensorpack trials."""

from __future__ import annotations

import abc
from typing import Any

from determined._train_context import TrialContext
from determined._trial import Trial


class TensorpackTrial(Trial):
    """Subclass this to train a Tensorpack model.

    The parameter ``hparams`` of methods is optional: leave it out if you do not need it. ``trainer_type`` is "horovod"
    on several slots, and otherwise "replicated".

    Example::

        class MyTrial(TensorpackTrial):
            def build_model(self, hparams, trainer_type):
                return Model(hparams["learning_rate"])  # a tp.ModelDesc

            def build_training_dataflow(self):
                return tp.BatchData(tp.dataset.Mnist("train"), self.context.get_per_slot_batch_size())

            def build_validation_dataflow(self):
                return tp.BatchData(tp.dataset.Mnist("test"), 256, remainder=True)

            def validation_metrics(self, hparams):
                return ["accuracy"]  # reported as val_accuracy
    """

    def __init__(self, context: TrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self, *args: Any, **options: Any) -> Any:
        """``build_model(self, hparams, trainer_type)`` returns the ``tp.ModelDesc`` to train."""

    @abc.abstractmethod
    def validation_metrics(self, hparams: Any = None) -> Any:
        """Returns an :class:`Evaluator`, or names of tensors whose means over the validation dataflow are reported."""

    @abc.abstractmethod
    def build_training_dataflow(self) -> Any:
        """Returns the ``tp.DataFlow`` to train on. It is repeated endlessly."""

    def build_validation_dataflow(self) -> Any:
        """Returns the ``tp.DataFlow`` to validate on; None if an :class:`Evaluator` needs none."""
        return None

    def training_metrics(self, hparams: Any = None) -> list[str]:
        """Returns the names of tensors and variables to report for every batch, in addition to the loss."""
        return []

    def tensorpack_callbacks(self, hparams: Any = None) -> list[Any]:
        """Tensorpack callbacks to use during training."""
        return []

    def tensorpack_monitors(self, hparams: Any = None) -> list[Any]:
        """Tensorpack monitors to use during training."""
        return []

    def load_backbone_weights(self, hparams: Any = None) -> str | None:
        """Returns the path of initial weights, a ``.npz`` file or a TensorFlow checkpoint; None for none."""
        return None
