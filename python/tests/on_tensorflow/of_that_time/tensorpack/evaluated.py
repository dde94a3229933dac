"""An evaluator of one's own, ``ScheduleSetter``, and layers of ``tf.layers`` and ``tf.contrib``."""

import numpy as np
import tensorflow as tf
from flows import Stripes
from tensorpack import BatchData, ModelDesc

from determined.tensorpack import Evaluator, SchedulePoint, ScheduleSetter, TensorpackTrial


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 8, 8), tf.float32, "input"), tf.TensorSpec((None,), tf.int32, "label")]

    def build_graph(self, image, label):
        x = tf.contrib.layers.flatten(image)
        regularizer = tf.contrib.layers.l1_regularizer(1e-4)
        x = tf.layers.dense(x, 8, tf.nn.tanh, kernel_regularizer=regularizer, name="hidden")
        x = tf.nn.dropout(x, keep_prob=0.9)
        logits = tf.identity(tf.layers.dense(x, 2, name="last"), name="logits")
        cost = tf.losses.sparse_softmax_cross_entropy(label, logits)
        return tf.add(cost, tf.losses.get_regularization_loss(), name="cost")

    def optimizer(self):
        rate = tf.get_variable("rate", initializer=0.01, trainable=False)
        return tf.train.RMSPropOptimizer(rate, decay=0.9)


class WeightNorm(Evaluator):
    def set_up_graph(self, trainer):
        kernels = [one for one in tf.trainable_variables() if "kernel" in one.op.name]
        self.norms = [tf.norm(one) for one in kernels]

    def compute_validation_metrics(self):
        values = self.trainer.sess.run(self.norms)
        return {"norm": float(np.sum(values))}


class EvaluatedTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, hparams, trainer_type):
        return Model()

    def build_training_dataflow(self):
        return BatchData(Stripes("train"), self.context.get_per_slot_batch_size())

    def validation_metrics(self, hparams):
        return WeightNorm()

    def training_metrics(self, hparams):
        return ["rate"]

    def tensorpack_callbacks(self, hparams):
        return [ScheduleSetter("rate", [SchedulePoint(0, 0.01, interp="linear"), SchedulePoint(10, 0.001)])]
