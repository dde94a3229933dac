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
        """The compiled model; it has been through ``context.wrap_model()`` before it was compiled."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """What to train on: ``(x, y)``, ``(x, y, sample_weights)``, a ``tf.keras.utils.Sequence``, or a
        ``tf.data.Dataset`` that has been through ``context.wrap_dataset()``."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """What to validate on, of the same kinds."""

    def session_config(self) -> Any:
        """Settings of TensorFlow's first generation; they have no effect on the second."""
        return None

    def keras_callbacks(self) -> list[Any]:
        """Callbacks, of Keras or of ``determined.keras.callbacks``."""
        return []
