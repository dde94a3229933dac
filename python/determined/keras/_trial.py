"""The base class of Keras trials."""

from __future__ import annotations

import abc
from typing import Any

from determined._trial import Trial
from determined.keras._context import TFKerasTrialContext


class TFKerasTrial(Trial):
    """Subclass this to train a ``tf.keras`` model.

    Example::

        class MyTrial(TFKerasTrial):
            def build_model(self):
                model = self.context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(10)]))
                model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"])
                return model

            def build_training_data_loader(self):
                return train_images, train_labels

            def build_validation_data_loader(self):
                return test_images, test_labels
    """

    trial_context_class = TFKerasTrialContext

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> Any:
        """Returns the compiled model. Pass it through ``context.wrap_model()`` before compiling it."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Returns the training data: ``(x, y)``, ``(x, y, sample_weights)``, a ``tf.keras.utils.Sequence``, or a
        ``tf.data.Dataset`` that was passed through ``context.wrap_dataset()``."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Returns the validation data, in one of the same forms."""

    def session_config(self) -> Any:
        """Session settings of TensorFlow 1. They have no effect in TensorFlow 2."""
        return None

    def keras_callbacks(self) -> list[Any]:
        """Returns callbacks of Keras or of ``determined.keras.callbacks``."""
        return []
