"""A Keras model for Fashion-MNIST: wrapped before it is compiled, data as NumPy arrays."""

import gzip
import os

import numpy as np
import tensorflow as tf

from determined.keras import TFKerasTrial, callbacks


class MNistTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                layers.Reshape((28, 28, 1), input_shape=(28, 28)),
                layers.Conv2D(self.context.get_hparam("n_filters"), 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(64, activation="relu"),
                layers.Dropout(self.context.get_hparam("dropout")),
                layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(self.context.get_hparam("learning_rate")),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self):
        return self._load("train")

    def build_validation_data_loader(self):
        return self._load("t10k")

    def keras_callbacks(self):
        return [callbacks.ReduceLROnPlateau(monitor="val_loss", patience=3)]

    def _load(self, part):
        directory = self.context.get_data_config()["directory"]
        with gzip.open(os.path.join(directory, f"{part}-images-idx3-ubyte.gz")) as file:
            images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
        with gzip.open(os.path.join(directory, f"{part}-labels-idx1-ubyte.gz")) as file:
            labels = np.frombuffer(file.read(), np.uint8, offset=8)
        return images.astype(np.float32) / 255, labels.astype(np.int32)
