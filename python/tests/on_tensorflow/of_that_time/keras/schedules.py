"""Feature columns, a schedule of ``tf.keras.experimental`` and two inputs, on a data set."""

import numpy as np
import tensorflow as tf
from data import points

from determined.keras import TFKerasTrial

COLORS = ["red", "green", "blue"]


class FeatureColumnTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        color = tf.feature_column.categorical_column_with_vocabulary_list("color", COLORS)
        size = tf.feature_column.numeric_column("size", shape=(6,))
        bucket = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("first"), [-1.0, 0.0, 1.0])
        embedded, shown = tf.feature_column.embedding_column(color, 2), tf.feature_column.indicator_column(color)
        inputs = {
            "size": tf.keras.Input((6,), name="size"),
            "first": tf.keras.Input((1,), name="first"),
            "color": tf.keras.Input((1,), name="color", dtype=tf.string),
        }
        x = tf.keras.layers.DenseFeatures([size, bucket, embedded, shown])(inputs)
        x = tf.keras.layers.Dense(8, activation=tf.nn.relu)(x)
        x = tf.keras.layers.AlphaDropout(0.2)(x)
        outputs = tf.keras.layers.Dense(1, activation="sigmoid")(x)
        model = self.context.wrap_model(tf.keras.Model(inputs=inputs, outputs=outputs))
        rate = tf.keras.experimental.LinearCosineDecay(0.1, decay_steps=20, num_periods=1.5)
        model.compile(
            tf.keras.optimizers.SGD(learning_rate=rate, momentum=0.9, nesterov=True, clipnorm=1.0),
            loss=tf.keras.losses.BinaryCrossentropy(reduction=tf.keras.losses.Reduction.AUTO),
            metrics=[tf.keras.metrics.BinaryAccuracy(name="accuracy"), tf.keras.metrics.AUC(num_thresholds=20)],
        )
        return model

    def data(self, seed):
        x, y = points(24, seed)
        features = {"size": x, "first": x[:, :1], "color": np.array(COLORS)[np.arange(24) % 3][:, None]}
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((features, y)))
        options = tf.data.Options()
        options.experimental_deterministic = True
        options.experimental_optimization.map_vectorization.enabled = True
        options.experimental_optimization.autotune_buffers = True
        return dataset.with_options(options)

    def build_training_data_loader(self):
        data = self.data(1).apply(tf.data.experimental.shuffle_and_repeat(24))
        return data.batch(self.context.get_per_slot_batch_size()).prefetch(tf.data.experimental.AUTOTUNE)

    def build_validation_data_loader(self):
        return self.data(2).batch(4)
