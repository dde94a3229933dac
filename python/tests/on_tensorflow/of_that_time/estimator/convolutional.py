"""A model function of TensorFlow 1 with ``tf.layers``, ``tf.metrics`` and ``tf.contrib``."""

import tensorflow as tf
from people import stripes
from tensorflow.contrib import layers as contrib_layers

from determined.estimator import EstimatorTrial

tf.logging.set_verbosity(tf.logging.INFO)


def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    regularizer = tf.contrib.layers.l2_regularizer(scale=1e-3)
    x = tf.reshape(features["image"], [-1, 8, 8, 1])
    x = tf.layers.conv2d(
        x,
        params["filters"],
        3,
        activation=tf.nn.relu,
        kernel_initializer=contrib_layers.xavier_initializer_conv2d(),
        kernel_regularizer=regularizer,
    )
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.batch_normalization(x, training=training, fused=True)
    x = tf.contrib.layers.flatten(x)
    x = tf.layers.dropout(x, rate=0.3, training=training)
    with tf.variable_scope("head", reuse=tf.AUTO_REUSE):
        weights = tf.get_variable(
            "weights", [x.shape[1].value, 2], initializer=tf.random_normal_initializer(stddev=0.1)
        )
        logits = tf.matmul(tf.nn.dropout(x, keep_prob=0.9) if training else x, weights, name="logits")
    predictions = {"classes": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits, name="softmax")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    accuracy = tf.metrics.accuracy(labels, predictions["classes"], name="accuracy_op")
    tf.summary.scalar("accuracy", accuracy[1])
    if not training:
        per_class = tf.metrics.mean_per_class_accuracy(labels, predictions["classes"], 2)
        metrics = {"accuracy": accuracy, "per_class": per_class}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    rate = tf.train.exponential_decay(0.05, tf.train.get_global_step(), 5, 0.9, staircase=True)
    tf.summary.scalar("rate", rate)
    optimizer = params["context"].wrap_optimizer(tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        train_op = optimizer.apply_gradients(zip(clipped, variables, strict=True), tf.train.get_global_step())
    hook = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[hook])


class ConvolutionalTrial(EstimatorTrial):
    def __init__(self, context):
        self.context = context

    def build_estimator(self):
        params = {"filters": 4, "context": self.context}
        return tf.estimator.Estimator(model_fn=model_fn, params=params)

    def input_fn(self, seed, shuffle):
        images, labels = stripes(24, seed)
        dataset = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"image": images}, labels)))
        if shuffle:
            dataset = dataset.shuffle(24).map(lambda f, y: ({"image": tf.image.random_flip_left_right(f["image"])}, y))
        return dataset.apply(tf.contrib.data.map_and_batch(lambda f, y: (f, y), self.context.get_per_slot_batch_size()))

    def build_train_spec(self):
        return tf.estimator.TrainSpec(lambda: self.input_fn(1, True), hooks=[tf.train.StepCounterHook(10)])

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(lambda: self.input_fn(2, False), steps=None)
