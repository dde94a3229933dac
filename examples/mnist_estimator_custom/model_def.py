"""A convolutional network of one's own as an Estimator, with a metric over all slots and a hook.

The F1 score of several slots cannot be had from each slot's own: ``make_metric`` reduces what all of them counted.
"""

import os

import data
import numpy as np
import tensorflow as tf

from determined import estimator

v1 = tf.compat.v1


class MacroF1(estimator.MetricReducer):
    """The mean over classes of their F1 scores, from a confusion matrix that every slot adds up for its batches."""

    def __init__(self):
        self.confusion = np.zeros((10, 10), dtype=np.int64)

    def accumulate(self, metric):
        np.add.at(self.confusion, (metric["labels"], metric["predictions"]), 1)
        return self.confusion

    def cross_slot_reduce(self, per_slot_metrics):
        confusion = sum(per_slot_metrics)
        return np.mean(2 * np.diag(confusion) / np.maximum(1, confusion.sum(axis=0) + confusion.sum(axis=1)))


class Notes(estimator.RunHook):
    """Leaves a word in every checkpoint."""

    def __init__(self, context):
        self.context = context

    def on_checkpoint_end(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "notes.txt"), "w") as file:
            file.write(f"learning rate {self.context.get_hparam('learning_rate')}\n")


class MNistTrial(estimator.EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        return tf.estimator.Estimator(self.model_fn)

    def model_fn(self, features, labels, mode):
        training = mode == tf.estimator.ModeKeys.TRAIN
        x = tf.reshape(features["image"], [-1, 28, 28, 1])
        for filters in (16, 32):
            x = v1.layers.conv2d(x, filters, 3, padding="same", activation=tf.nn.relu)
            x = v1.layers.max_pooling2d(x, 2, 2)
        x = v1.layers.dense(v1.layers.flatten(x), 64, activation=tf.nn.relu)
        x = v1.layers.dropout(x, self.context.get_hparam("dropout"), training=training)
        logits = v1.layers.dense(x, 10)
        predictions = tf.argmax(logits, axis=1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"class": predictions})
        loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
        if mode == tf.estimator.ModeKeys.EVAL:
            f1 = self.context.experimental.make_metric(
                {"labels": labels, "predictions": predictions}, reducer=MacroF1(), numpy_dtype=np.float32
            )
            metrics = {"accuracy": v1.metrics.accuracy(labels, predictions), "macro_f1": f1}
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        v1.summary.scalar("train_accuracy", tf.reduce_mean(tf.cast(tf.equal(predictions, tf.cast(labels, tf.int64)), tf.float32)))
        optimizer = self.context.wrap_optimizer(v1.train.AdamOptimizer(self.context.get_hparam("learning_rate")))
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, v1.train.get_or_create_global_step())
        )

    def _input_fn(self, part, shuffle=False):
        def input_fn():
            images, labels = data.load(self.context.get_data_config()["directory"], part)
            dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"image": images}, labels)))
            if shuffle:
                dataset = dataset.shuffle(1000)
            return dataset.batch(self.context.get_per_slot_batch_size()).map(data.scaled)

        return input_fn

    def build_train_spec(self):
        return tf.estimator.TrainSpec(self._input_fn("train", shuffle=True), hooks=[Notes(self.context)])

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(self._input_fn("t10k"), steps=None)

    def build_serving_input_receiver_fns(self):
        def raw():
            image = v1.placeholder(tf.float32, [None, 784], name="image")
            return tf.estimator.export.ServingInputReceiver({"image": image}, {"image": image})

        return {"raw": raw}
