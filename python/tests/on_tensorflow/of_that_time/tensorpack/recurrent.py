"""A recurrent network with cells of TensorFlow 1."""

import numpy as np
import tensorflow as tf
from tensorpack import BatchData, CacheData, DataFromList, FullyConnected, ModelDesc
from tensorpack.tfutils.gradproc import GlobalNormClip
from tensorpack.tfutils.optimizer import apply_grad_processors

from determined.tensorpack import TensorpackTrial


def sentences(seed):
    random = np.random.RandomState(seed)
    return [[words, np.int32(words[-1] > 4)] for words in random.randint(0, 9, (24, 5)).astype("int32")]


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 5), tf.int32, "words"), tf.TensorSpec((None,), tf.int32, "label")]

    def build_graph(self, words, label):
        initializer = tf.random_uniform_initializer(-0.1, 0.1)
        table = tf.get_variable("embedding", [9, 4], initializer=initializer)
        steps = tf.unstack(tf.nn.embedding_lookup(table, words), 5, 1)
        cells = [tf.nn.rnn_cell.BasicLSTMCell(num_units=4), tf.nn.rnn_cell.LSTMCell(4, use_peepholes=True)]
        outputs, _ = tf.nn.static_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), steps, dtype=tf.float32, scope="rnn")
        logits = FullyConnected("fc", outputs[-1], 2, kernel_initializer=initializer)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=label), name="loss0")
        tf.exp(loss, name="perplexity")
        return loss

    def optimizer(self):
        return apply_grad_processors(tf.train.AdagradOptimizer(0.5), [GlobalNormClip(5)])


class RecurrentTrial(TensorpackTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self, hparams, trainer_type):
        return Model()

    def build_training_dataflow(self):
        flow = CacheData(DataFromList(sentences(1), shuffle=False), shuffle=True)
        return BatchData(flow, self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self):
        return BatchData(DataFromList(sentences(2), shuffle=False), 8)

    def validation_metrics(self, hparams):
        return ["perplexity"]
