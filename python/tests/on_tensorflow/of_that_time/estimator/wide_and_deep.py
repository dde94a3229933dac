"""The wide and deep model of the census tutorial, with optimizers of TensorFlow 1."""

import tensorflow as tf
from people import TOWNS, people

from determined.estimator import EstimatorTrial, EstimatorTrialContext


def columns():
    age = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: (x - 40.0) / 20.0)
    hours = tf.feature_column.numeric_column("hours")
    town = tf.feature_column.categorical_column_with_vocabulary_list("town", TOWNS)
    street = tf.feature_column.categorical_column_with_hash_bucket("street", hash_bucket_size=20)
    buckets = tf.feature_column.bucketized_column(age, boundaries=[-1.0, 0.0, 1.0])
    crossed = tf.feature_column.crossed_column([buckets, "town"], hash_bucket_size=50)
    wide = [town, street, buckets, crossed]
    deep = [age, hours, tf.feature_column.indicator_column(town), tf.feature_column.embedding_column(street, 3)]
    return wide, deep


class WideAndDeepTrial(EstimatorTrial):
    def __init__(self, context: EstimatorTrialContext):
        self.context = context

    def build_estimator(self):
        wide, deep = columns()
        return tf.estimator.DNNLinearCombinedClassifier(
            model_dir=None,
            linear_feature_columns=wide,
            linear_optimizer=self.context.wrap_optimizer(tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01)),
            dnn_feature_columns=deep,
            dnn_optimizer=self.context.wrap_optimizer(tf.train.ProximalAdagradOptimizer(0.05)),
            dnn_hidden_units=[8, 4],
            dnn_dropout=0.1,
            batch_norm=True,
            config=tf.estimator.RunConfig(save_summary_steps=5, session_config=tf.ConfigProto()),
        )

    def data(self, seed):
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(people(24, seed)))
        return dataset.batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self):
        def input_fn():
            return self.data(1).apply(tf.data.experimental.shuffle_and_repeat(6)).prefetch(1)

        return tf.estimator.TrainSpec(input_fn, max_steps=1000)

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.data(2), steps=None, throttle_secs=0, start_delay_secs=0)

    def build_serving_input_receiver_fns(self):
        wide, deep = columns()
        spec = tf.feature_column.make_parse_example_spec(wide + deep)
        return {"inference": tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)}
