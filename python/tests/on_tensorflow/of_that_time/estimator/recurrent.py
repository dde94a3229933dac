"""A recurrent model of TensorFlow 1 on lines of text, with a metric of one's own."""

import tempfile

import numpy as np
import tensorflow as tf

from determined.estimator import EstimatorTrial


def lines(seed):
    random = np.random.RandomState(seed)
    file = tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False)  # noqa: SIM115
    with file:
        for _ in range(24):
            numbers = random.rand(4)
            file.write(",".join(f"{one:.4f}" for one in numbers) + f",{int(numbers.sum() > 2)}\n")
    return file.name


class RecurrentTrial(EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def model_fn(self, features, labels, mode):
        keep = 0.8 if mode == tf.estimator.ModeKeys.TRAIN else 1.0
        cells = [tf.contrib.rnn.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(3)]
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.DropoutWrapper(one, output_keep_prob=keep) for one in cells])
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.expand_dims(features, 2), dtype=tf.float32)
        logits = tf.layers.dense(outputs[:, -1], 1, kernel_initializer=tf.truncated_normal_initializer(stddev=0.1))
        labels = tf.to_float(tf.expand_dims(labels, 1))
        loss = tf.losses.sigmoid_cross_entropy(labels, logits, reduction=tf.losses.Reduction.MEAN)
        if mode == tf.estimator.ModeKeys.EVAL:
            wrong = tf.to_float(tf.not_equal(labels, tf.round(tf.sigmoid(logits))))
            error = self.context.experimental.make_metric(wrong, lambda all: np.mean(np.concatenate(all)), np.float32)
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"error": error})
        optimizer = self.context.wrap_optimizer(tf.train.RMSPropOptimizer(0.01, decay=0.9, epsilon=1e-8))
        train_op = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def build_estimator(self):
        tf.set_random_seed(self.context.get_trial_seed())
        return tf.estimator.Estimator(self.model_fn)

    def data(self, seed):
        def parse(line):
            *numbers, label = tf.decode_csv(line, [[0.0]] * 4 + [[0]])
            return tf.stack(numbers), label

        dataset = self.context.wrap_dataset(tf.data.TextLineDataset(lines(seed)))
        return dataset.map(parse, num_parallel_calls=2).batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self):
        return tf.estimator.TrainSpec(lambda: self.data(1).shuffle(3).repeat(None))

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.data(2))
