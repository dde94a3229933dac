"""Gradients that Tensorpack adds up, variables that are frozen, and monitors."""

import tensorflow as tf
from flows import Stripes
from tensorpack import BatchData, FixedSizeData, FullyConnected, LocallyShuffleData, ModelDesc, RepeatedData
from tensorpack.callbacks import JSONWriter, ScalarPrinter
from tensorpack.tfutils.optimizer import AccumGradOptimizer
from tensorpack.tfutils.varreplace import freeze_variables

from determined.tensorpack import TensorpackTrial, TFEventWriter


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 8, 8), tf.float32, "input"), tf.TensorSpec((None,), tf.int32, "label")]

    def build_graph(self, image, label):
        with freeze_variables(stop_gradient=True):
            x = FullyConnected("frozen", image, 8, activation=tf.nn.relu)
        x = tf.layers.dense(x, 4, tf.nn.relu, kernel_initializer=tf.glorot_normal_initializer())
        logits = FullyConnected("last", x, 2)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
        return tf.reduce_mean(loss, name="loss_of_batch")

    def optimizer(self):
        return AccumGradOptimizer(tf.train.GradientDescentOptimizer(0.1), niter=2)


class AccumulatedTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, trainer_type):
        return Model()

    def build_training_dataflow(self):
        flow = LocallyShuffleData(RepeatedData(Stripes("train", shuffle=False), -1), 8)
        return BatchData(FixedSizeData(flow, 24, keep_state=False), self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        return BatchData(Stripes("test"), 4)

    def validation_metrics(self):
        return ["loss_of_batch"]

    def tensorpack_monitors(self):
        return [TFEventWriter(), ScalarPrinter(), JSONWriter()]
