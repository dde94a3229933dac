"""A Keras model made an Estimator, as in TensorFlow 2.0."""

import tensorflow as tf
from people import stripes

from determined.estimator import EstimatorTrial


class FromKerasTrial(EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Flatten(input_shape=(8, 8, 1), name="image"),
                tf.keras.layers.Dense(8, activation="relu", kernel_regularizer=tf.keras.regularizers.l1(1e-4)),
                tf.keras.layers.Dropout(0.2),
                tf.keras.layers.Dense(2, activation="softmax"),
            ]
        )
        optimizer = tf.keras.optimizers.Adam(lr=self.context.get_hparam("learning_rate"), decay=1e-3)
        optimizer = self.context.wrap_optimizer(optimizer)
        model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        return tf.keras.estimator.model_to_estimator(keras_model=model)

    def data(self, seed):
        images, labels = stripes(24, seed)
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"image_input": images}, labels)))
        return dataset.cache().batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self):
        return tf.estimator.TrainSpec(lambda: self.data(1).shuffle(6))

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.data(2), steps=None)
