"""Tells two spirals apart: a small network as a TFKerasTrial.

The platform calls these methods. It trains, validates, saves checkpoints and resumes; there is no loop to write.
"""

import numpy as np
import tensorflow as tf

from determined.keras import TFKerasTrial


def spirals(points, seed):
    """Replace this by your own data set."""
    generator = np.random.default_rng(seed)
    label = np.arange(points) % 2
    turn = 3 * np.pi * np.sqrt(generator.random(points))
    angle = turn + np.pi * label
    place = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / 10
    return (place + generator.normal(0, 0.02, place.shape)).astype(np.float32), label


class SpiralTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        width = self.context.get_hparam("width")
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(width, activation="relu", input_shape=(2,)),
                tf.keras.layers.Dense(width, activation="relu"),
                tf.keras.layers.Dense(2),
            ]
        )
        model = self.context.wrap_model(model)
        model.compile(
            optimizer=self.context.wrap_optimizer(
                tf.keras.optimizers.Adam(self.context.get_hparam("learning_rate"))
            ),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self):
        return spirals(4000, seed=1)

    def build_validation_data_loader(self):
        return spirals(1000, seed=2)
