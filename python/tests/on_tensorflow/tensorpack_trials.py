"""Tensorpack trials for the tests: small, and full of chance."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
import tensorpack as tp

from determined import tensorpack

v1 = tf.compat.v1


class Numbers(tp.dataflow.RNGDataFlow):  # type: ignore[misc]
    """Points with noise, in another order each time."""

    def __init__(self, seed: int, count: int = 40, *, chance: bool = True) -> None:
        generator = np.random.default_rng(seed)
        self.x = generator.normal(size=(count, 6)).astype(np.float32)
        self.y = (self.x @ np.arange(6) > 0).astype(np.int32)
        self.chance = chance

    def __len__(self) -> int:
        return len(self.x)

    def __iter__(self) -> Any:
        for at in self.rng.permutation(len(self.x)) if self.chance else range(len(self.x)):
            yield [self.x[at] + (self.rng.normal() + np.random.normal() if self.chance else 0), self.y[at]]


class Model(tp.ModelDesc):  # type: ignore[misc]
    def inputs(self) -> Any:
        return [tf.TensorSpec((None, 6), tf.float32, "x"), tf.TensorSpec((None,), tf.int32, "y")]

    def build_graph(self, x: Any, y: Any) -> Any:
        x = tp.FullyConnected("first", x, 8)
        x = tf.nn.relu(tp.BatchNorm("norm", x))
        x = tp.Dropout("drop", x, rate=0.5)
        logits = tp.FullyConnected("second", x, 2)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y), name="cost")
        hits = tf.cast(tf.equal(tf.cast(tf.argmax(logits, 1), tf.int32), y), tf.float32)
        tp.summary.add_moving_summary(tf.reduce_mean(hits, name="accuracy"), loss)
        return loss

    def optimizer(self) -> Any:
        rate = v1.get_variable("learning_rate", initializer=0.5, trainable=False)
        return v1.train.MomentumOptimizer(rate, 0.9)


class NewTrial(tensorpack.TensorpackTrial):
    """Methods without ``hparams``."""

    asked: ClassVar[list[Any]] = []

    def build_model(self, trainer_type: str) -> Any:
        self.asked.append(trainer_type)
        return Model()

    def build_training_dataflow(self) -> Any:
        return tp.BatchData(Numbers(1), self.context.get_per_slot_batch_size())

    def build_validation_dataflow(self) -> Any:
        return tp.BatchData(Numbers(2, chance=False), 4)

    def validation_metrics(self) -> Any:
        return ["accuracy", "cost"]

    def training_metrics(self) -> list[str]:
        return ["learning_rate", "accuracy"]

    def tensorpack_callbacks(self) -> list[Any]:
        points = [tensorpack.SchedulePoint(0, 0.1, "interp"), tensorpack.SchedulePoint(10, 0.01)]
        return [tensorpack.ScheduleSetter("learning_rate", points)]


class OldTrial(NewTrial):
    """Methods with ``hparams``, as the reference has them."""

    def build_model(self, hparams: Any, trainer_type: str) -> Any:  # type: ignore[override]
        self.asked.append((hparams["global_batch_size"], trainer_type))
        return Model()

    def validation_metrics(self, hparams: Any) -> Any:  # type: ignore[override]
        return Rate(hparams)

    def training_metrics(self, hparams: Any) -> list[str]:  # type: ignore[override]
        return [*super().training_metrics()]

    def tensorpack_callbacks(self, hparams: Any) -> list[Any]:  # type: ignore[override]
        return super().tensorpack_callbacks()

    def tensorpack_monitors(self, hparams: Any) -> list[Any]:
        return [*super().tensorpack_monitors(hparams)]

    def load_backbone_weights(self, hparams: Any) -> Any:
        return self.context.get_hparams().get("backbone")


class Rate(tensorpack.Evaluator):
    """Validates by a graph of its own."""

    def __init__(self, hparams: Any) -> None:
        self.hparams = hparams

    def set_up_graph(self, trainer: Any) -> None:
        (self.weights,) = [one for one in v1.trainable_variables() if one.op.name == "second/W"]
        self.norm = tf.norm(self.weights)

    def compute_validation_metrics(self) -> Any:
        return {"norm": float(self.trainer.sess.run(self.norm)), "val/size[a]:0": self.hparams["global_batch_size"]}
