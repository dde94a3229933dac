"""A premade classifier for Fashion-MNIST: an optimizer and data sets are wrapped, the rest is TensorFlow's."""

import data
import tensorflow as tf

from determined.estimator import EstimatorTrial


class MNistTrial(EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        optimizer = self.context.wrap_optimizer(
            tf.compat.v1.train.AdamOptimizer(learning_rate=self.context.get_hparam("learning_rate"))
        )
        return tf.compat.v1.estimator.DNNClassifier(
            feature_columns=[tf.feature_column.numeric_column("image", shape=(784,))],
            n_classes=10,
            hidden_units=[self.context.get_hparam("hidden_layer_1"), self.context.get_hparam("hidden_layer_2")],
            dropout=self.context.get_hparam("dropout"),
            optimizer=optimizer,
        )

    def _input_fn(self, part, shuffle=False):
        def input_fn():
            images, labels = data.load(self.context.get_data_config()["directory"], part)
            dataset = tf.data.Dataset.from_tensor_slices(({"image": images}, labels))
            dataset = self.context.wrap_dataset(dataset)
            if shuffle:
                dataset = dataset.shuffle(1000)
            return dataset.batch(self.context.get_per_slot_batch_size()).map(data.scaled)

        return input_fn

    def build_train_spec(self):
        return tf.estimator.TrainSpec(self._input_fn("train", shuffle=True))

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(self._input_fn("t10k"), steps=None)

    def build_serving_input_receiver_fns(self):
        columns = {"image": tf.io.FixedLenFeature([784], tf.float32)}
        return {"mnist_parsing": tf.estimator.export.build_parsing_serving_input_receiver_fn(columns)}
