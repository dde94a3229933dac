"""Estimator trials for the tests: small, and full of chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from determined.estimator import EstimatorTrial, MetricReducer, RunHook

v1 = tf.compat.v1
EVENTS: list[tuple[str, Any]] = []
ROWS = 40


def rows(seed: int, count: int = ROWS) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, 6)).astype(np.float32)
    return x, (x @ np.arange(6) > 0).astype(np.int64)


class Recorder(RunHook):
    """Tells what it hears."""

    def begin(self) -> None:
        EVENTS.append(("begin", None))

    def after_create_session(self, session: Any, coord: Any) -> None:
        EVENTS.append(("session", None))

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(v1.train.get_global_step())

    def after_run(self, run_context: Any, run_values: Any) -> None:
        EVENTS.append(("step", int(run_values.results)))

    def end(self, session: Any) -> None:
        EVENTS.append(("end", None))

    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        EVENTS.append(("load", checkpoint_dir))

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        with open(f"{checkpoint_dir}/note.txt", "w") as file:
            file.write("kept")
        EVENTS.append(("checkpoint", checkpoint_dir))

    def on_trial_close(self) -> None:
        EVENTS.append(("close", None))


class Mean(MetricReducer):
    def __init__(self) -> None:
        self.sum, self.count = 0.0, 0

    def accumulate(self, metric: Any) -> Any:
        self.sum, self.count = self.sum + float(metric.sum()), self.count + metric.size
        return self.sum, self.count

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        sums, counts = zip(*per_slot_metrics, strict=True)
        return sum(sums) / sum(counts)


class ChanceTrial(EstimatorTrial):
    """Dropout, noise, shuffling, augmentation, batch normalisation, an embedding and Adam."""

    hooks: tuple[Any, ...] = ()

    def build_estimator(self) -> Any:
        return tf.estimator.Estimator(self.model_fn, params={"width": 8})

    def model_fn(self, features: Any, labels: Any, mode: Any, params: Any) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        x = features["x"]
        table = v1.get_variable("table", [4, 3])
        x = tf.concat([x, tf.nn.embedding_lookup(table, features["kind"])], 1)
        if training:
            x += v1.random.normal(tf.shape(x), stddev=0.1)
        x = v1.layers.dense(x, params["width"], activation=tf.nn.relu)
        x = v1.layers.batch_normalization(x, training=training)
        x = v1.layers.dropout(x, 0.5, training=training)
        logits = v1.layers.dense(x, 2)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
        loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
        hit = tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32)
        if not training:
            scores = tf.nn.softmax(logits)[:, 1]
            make = self.context.experimental.make_metric
            return tf.estimator.EstimatorSpec(
                mode,
                loss=loss,
                eval_metric_ops={
                    "accuracy": v1.metrics.accuracy(labels, tf.argmax(logits, 1)),
                    "auc": v1.metrics.auc(labels, scores),
                    "by_function": make(hit, lambda batches: np.mean(np.hstack(batches)), np.float32),
                    "by_reducer": make(hit, Mean(), "float64"),
                    "pairs": make({"a": hit, "b": labels}, lambda batches: sum(len(b["a"]) for b in batches), np.int64),
                },
            )
        v1.summary.scalar("hits", tf.reduce_sum(hit))
        v1.summary.histogram("logits", logits)
        optimizer = self.context.wrap_optimizer(v1.train.AdamOptimizer(0.05))
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            step = optimizer.minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    def data(self, seed: int) -> Any:
        x, y = rows(seed)
        kind = np.arange(len(y)) % 4
        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"x": x, "kind": kind}, y)))

    def build_train_spec(self) -> Any:
        def input_fn() -> Any:
            ds = self.data(1).shuffle(16)
            ds = ds.map(lambda f, y: ({**f, "x": f["x"] + v1.random.uniform([6], maxval=0.1)}, y))
            return ds.batch(self.context.get_per_slot_batch_size(), drop_remainder=True)

        return tf.estimator.TrainSpec(input_fn, hooks=[hook() for hook in self.hooks])

    def build_validation_spec(self) -> Any:
        def input_fn() -> Any:
            return self.data(2).batch(3)

        return tf.estimator.EvalSpec(input_fn, steps=None)


class ServedTrial(ChanceTrial):
    """Exports two models, and tells what its hook hears."""

    hooks = (Recorder,)

    def build_serving_input_receiver_fns(self) -> Any:
        columns = {"x": tf.io.FixedLenFeature([6], tf.float32), "kind": tf.io.FixedLenFeature([], tf.int64)}

        def raw() -> Any:
            features = {"x": v1.placeholder(tf.float32, [None, 6]), "kind": v1.placeholder(tf.int64, [None])}
            return tf.estimator.export.ServingInputReceiver(features, features)

        return {"raw": raw, "parsing": tf.estimator.export.build_parsing_serving_input_receiver_fn(columns)}


class PremadeTrial(EstimatorTrial):
    """A premade classifier, of TensorFlow's first generation."""

    def build_estimator(self) -> Any:
        columns = [tf.feature_column.numeric_column("x", shape=(6,))]
        optimizer = self.context.wrap_optimizer(v1.train.AdagradOptimizer(0.1))
        return v1.estimator.DNNClassifier([8], columns, n_classes=2, optimizer=optimizer, dropout=0.2)

    def data(self, seed: int) -> Any:
        x, y = rows(seed)
        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"x": x}, y)))

    def build_train_spec(self) -> Any:
        return tf.estimator.TrainSpec(lambda: self.data(1).shuffle(40).batch(4), max_steps=1)

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(lambda: self.data(2).batch(4), steps=3)
