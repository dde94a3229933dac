"""Residual blocks with batch normalization, a rate that callbacks set, and gradients that are processed."""

import tensorflow as tf
from flows import Stripes
from tensorpack import (
    BatchData,
    BatchNorm,
    BNReLU,
    Conv2D,
    FullyConnected,
    GlobalAvgPooling,
    HyperParamSetterWithFunc,
    MapData,
    ModelDesc,
    ScheduledHyperParamSetter,
    argscope,
)
from tensorpack.tfutils import gradproc, optimizer
from tensorpack.tfutils.summary import add_moving_summary

from determined.tensorpack import TensorpackTrial


class Model(ModelDesc):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def inputs(self):
        return [tf.TensorSpec([None, 8, 8], tf.float32, "input"), tf.TensorSpec([None], tf.int32, "label")]

    def build_graph(self, image, label):
        def residual(name, x):
            with tf.variable_scope(name):
                return x + BatchNorm("norm", Conv2D("conv", BNReLU("before", x), 4, 3, use_bias=False))

        with argscope([Conv2D, GlobalAvgPooling, BatchNorm], data_format="channels_last"), argscope(Conv2D, strides=1):
            x = Conv2D("first", tf.expand_dims(image, 3), 4, 3, activation=BNReLU)
            for at in range(self.depth):
                x = residual(f"block{at}", x)
            x = GlobalAvgPooling("pool", x)
        logits = FullyConnected("linear", x, 2)
        tf.nn.softmax(logits, name="output")
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label), name="cost")
        wrong = tf.to_float(tf.logical_not(tf.nn.in_top_k(logits, label, 1)), name="wrong_vector")
        add_moving_summary(tf.reduce_mean(wrong, name="error"), cost)
        return cost

    def optimizer(self):
        lr = tf.get_variable("learning_rate", initializer=0.1, trainable=False)
        tf.summary.scalar("learning_rate-summary", lr)
        opt = tf.train.MomentumOptimizer(lr, 0.9)
        processors = [
            gradproc.GlobalNormClip(1.0),
            gradproc.ScaleGradient(("linear/b", 2.0)),
            gradproc.SummaryGradient(),
        ]
        return optimizer.apply_grad_processors(opt, processors)


class ResidualTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, hparams, trainer_type):
        return Model(depth=1)

    def build_training_dataflow(self):
        flow = MapData(Stripes("train"), lambda point: [point[0][:, ::-1] - 0.5, point[1]])
        return BatchData(flow, self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        return BatchData(Stripes("test"), 8)

    def validation_metrics(self, hparams):
        return ["error", "cost"]

    def tensorpack_callbacks(self, hparams):
        return [
            ScheduledHyperParamSetter("learning_rate", [(1, 0.1), (2, 0.01)]),
            HyperParamSetterWithFunc("learning_rate", lambda epoch, rate: rate * 0.5),
        ]
