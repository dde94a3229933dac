"""A premade regressor with optimizers by name or of Keras, and gradients that are clipped."""

import tensorflow as tf
from people import people

from determined.estimator import EstimatorTrial


class RegressionTrial(EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 70.0)
        street = tf.feature_column.categorical_column_with_hash_bucket("street", 8)
        other = tf.feature_column.categorical_column_with_hash_bucket("town", 8)
        shared = tf.feature_column.embedding_column(street, 2), tf.feature_column.indicator_column(other)
        optimizer = tf.keras.optimizers.Adam(learning_rate=tf.keras.experimental.CosineDecay(0.05, 20), clipnorm=1.0)
        return tf.estimator.DNNRegressor(
            hidden_units=[6],
            feature_columns=[age, *shared],
            activation_fn=tf.nn.elu,
            optimizer=self.context.wrap_optimizer(optimizer),
            config=tf.estimator.RunConfig(log_step_count_steps=10),
        )

    def data(self, seed):
        features, _ = people(24, seed)
        hours = features.pop("hours")
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((features, hours)))
        return dataset.batch(self.context.get_per_slot_batch_size(), drop_remainder=True)

    def build_train_spec(self):
        return tf.estimator.TrainSpec(input_fn=lambda: self.data(1))

    def build_validation_spec(self):
        numpy = tf.compat.v1.estimator.inputs.numpy_input_fn
        features, _ = people(12, 2)
        hours = features.pop("hours")
        return tf.estimator.EvalSpec(numpy(features, hours, batch_size=4, num_epochs=1, shuffle=False), steps=None)
