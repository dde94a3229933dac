"""Begins with the weights of another model, with ``tf.compat.v1`` as code for both TensorFlows has it."""

import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
import tensorpack as tp
from flows import Stripes
from tensorpack.tfutils.summary import add_tensor_summary

from determined.tensorpack import TensorpackTrial


class Model(tp.ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 8, 8), tf.float32, "input"), tf.TensorSpec((None,), tf.int32, "label")]

    def build_graph(self, image, label):
        x = tf.layers.flatten(image)
        x = tp.FullyConnected("backbone", x, 4, activation=tf.nn.relu)
        x = tp.LayerNorm("norm", tf.reshape(x, [-1, 1, 1, 4]), data_format="channels_last")
        logits = tp.FullyConnected("head", x, 2)
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label), name="cost")
        add_tensor_summary(cost, ["scalar"], main_tower_only=True)
        return cost

    def optimizer(self):
        optimizer = tf.train.AdamOptimizer(1e-2, epsilon=1e-3)
        return tp.optimizer.apply_grad_processors(optimizer, [tp.gradproc.FilterNoneGrad()])


class BackboneTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, hparams, trainer_type):
        return Model()

    def load_backbone_weights(self, hparams):
        path = tempfile.mkdtemp() + "/backbone.npz"
        weights = np.random.RandomState(3).rand(64, 4).astype("float32") - 0.5
        np.savez(path, **{"backbone/W:0": weights, "backbone/b:0": np.zeros(4, "float32")})
        return path

    def build_training_dataflow(self):
        return tp.BatchData(Stripes("train"), self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        return tp.BatchData(Stripes("test"), 24)

    def validation_metrics(self, hparams):
        return ["cost"]
