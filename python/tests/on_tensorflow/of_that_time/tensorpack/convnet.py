# ruff: noqa: F405  # as the examples of Tensorpack import it
"""The convolutional network of Tensorpack's first example, in TensorFlow 1."""

import tensorflow as tf
from flows import Stripes
from tensorpack import *  # noqa: F403
from tensorpack.tfutils import get_global_step_var, summary

from determined.tensorpack import TensorpackTrial


class Model(ModelDesc):
    def inputs(self):
        return [tf.placeholder(tf.float32, (None, 8, 8), "input"), tf.placeholder(tf.int32, (None,), "label")]

    def build_graph(self, image, label):
        image = tf.expand_dims(image, 3) * 2 - 1
        with argscope(Conv2D, kernel_size=3, activation=tf.nn.relu, filters=4):
            logits = (
                LinearWrap(image)
                .Conv2D("conv0")
                .MaxPooling("pool0", 2)
                .Conv2D("conv1")
                .FullyConnected("fc0", 8, activation=tf.nn.relu)
                .Dropout("dropout", rate=0.5)
                .FullyConnected("fc1", units=2, activation=tf.identity)()
            )
        cost = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label)
        cost = tf.reduce_mean(cost, name="cross_entropy_loss")
        correct = tf.cast(tf.nn.in_top_k(predictions=logits, targets=label, k=1), tf.float32, name="correct")
        accuracy = tf.reduce_mean(correct, name="accuracy")
        train_error = tf.reduce_mean(1 - correct, name="train_error")
        summary.add_moving_summary(train_error, accuracy)
        wd_cost = tf.multiply(1e-5, regularize_cost("fc.*/W", tf.nn.l2_loss), name="regularize_loss")
        total_cost = tf.add_n([wd_cost, cost], name="total_cost")
        summary.add_moving_summary(cost, wd_cost, total_cost)
        summary.add_param_summary((".*/W", ["histogram", "rms"]))
        return total_cost

    def optimizer(self):
        lr = tf.train.exponential_decay(
            learning_rate=1e-2, global_step=get_global_step_var(), decay_steps=10, decay_rate=0.3, staircase=True
        )
        tf.summary.scalar("lr", lr)
        return tf.train.AdamOptimizer(lr)


class ConvnetTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, hparams, trainer_type):
        assert trainer_type in ("replicated", "horovod") and hparams["learning_rate"]
        return Model()

    def build_training_dataflow(self):
        return BatchData(Stripes("train"), self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        return BatchData(Stripes("test"), 6, remainder=True)

    def validation_metrics(self, hparams):
        return ["accuracy", "cross_entropy_loss"]

    def training_metrics(self, hparams):
        return ["train_error", "lr"]
