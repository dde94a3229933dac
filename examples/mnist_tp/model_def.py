"""A convolutional network for Fashion-MNIST in Tensorpack, after Tensorpack's own MNIST example in spirit."""

import data
import tensorflow.compat.v1 as tf
import tensorpack as tp

from determined.tensorpack import SchedulePoint, ScheduleSetter, TensorpackTrial, TFEventWriter


class Model(tp.ModelDesc):
    def __init__(self, hparams):
        self.hparams = hparams

    def inputs(self):
        return [tf.TensorSpec((None, 28, 28), tf.float32, "input"), tf.TensorSpec((None,), tf.int32, "label")]

    def build_graph(self, image, label):
        x = tf.expand_dims(image, 3) * 2 - 1
        x = tp.Conv2D("conv0", x, self.hparams["n_filters"], 3, activation=tf.nn.relu)
        x = tp.MaxPooling("pool0", x, 2)
        x = tp.Conv2D("conv1", x, self.hparams["n_filters"], 3, activation=tf.nn.relu)
        x = tp.MaxPooling("pool1", x, 2)
        x = tp.FullyConnected("fc0", x, 128, activation=tf.nn.relu)
        x = tp.Dropout("dropout", x, rate=self.hparams["dropout"])
        logits = tp.FullyConnected("linear", x, 10)
        correct = tf.cast(tf.nn.in_top_k(tf.cast(logits, tf.float32), label, 1), tf.float32)
        accuracy = tf.reduce_mean(correct, name="accuracy")
        cost = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label), name="cross_entropy_loss"
        )
        tp.summary.add_moving_summary(accuracy, cost)
        return cost

    def optimizer(self):
        rate = tf.get_variable("learning_rate", initializer=self.hparams["base_learning_rate"], trainable=False)
        return tf.train.AdamOptimizer(rate)


class MnistTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context
        print(f"rank {context.distributed.get_rank()} of {context.distributed.get_size()}")

    def build_model(self, hparams, trainer_type):
        return Model(hparams)

    def build_training_dataflow(self):
        pictures = data.Pictures(self.context.get_data_config()["directory"], "train")
        return tp.BatchData(pictures, self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        pictures = data.Pictures(self.context.get_data_config()["directory"], "t10k")
        return tp.BatchData(pictures, 250)

    def validation_metrics(self, hparams):
        return ["cross_entropy_loss", "accuracy"]

    def training_metrics(self, hparams):
        return ["learning_rate"]

    def tensorpack_callbacks(self, hparams):
        first = hparams["base_learning_rate"]
        return [ScheduleSetter("learning_rate", [SchedulePoint(0, first, "interp"), SchedulePoint(600, first / 10)])]

    def tensorpack_monitors(self, hparams):
        return [TFEventWriter()]
