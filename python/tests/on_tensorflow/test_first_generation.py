"""Code of TensorFlow 1, unchanged."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest
import tensorflow

from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._run import _launch
from determined._tensorflow import _first_generation

OLD = """
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from determined.estimator import EstimatorTrial

assert tf.VERSION.startswith("2.")

class OldTrial(EstimatorTrial):
    def model_fn(self, features, labels, mode):
        logits = tf.layers.dense(features, 2)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        if mode == tf.estimator.ModeKeys.EVAL:
            accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, 1))
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
        optimizer = self.context.wrap_optimizer(tf.train.GradientDescentOptimizer(0.1))
        step = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    def data(self):
        pairs = (np.ones((8, 3), np.float32), np.zeros(8, np.int64))
        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(pairs)).batch(4)

    def build_estimator(self):
        return tf.estimator.Estimator(self.model_fn)

    def build_train_spec(self):
        return tf.estimator.TrainSpec(self.data)

    def build_validation_spec(self):
        return tf.estimator.EvalSpec(self.data)
"""
IMAGE = "determinedai/environments:cuda-10.0-pytorch-1.4-tf-1.15-gpu-0.8.0"


@pytest.mark.parametrize(
    ("image", "first"),
    [
        (IMAGE, True),
        ({"cpu": "x", "gpu": IMAGE}, True),
        ("determinedai/environments:cuda-10.1-pytorch-1.4-tf-2.2-gpu-0.8.0", False),
        (None, False),
    ],
)
def test_an_image_says_which_generation_is_meant(image: Any, first: bool) -> None:
    assert _first_generation.wanted({"environment": {"image": image}}) is first
    assert not _first_generation.wanted({})


def test_code_of_tensorflow_1_trains_where_the_image_says_so(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old_def.py").write_text(OLD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    config = {"entrypoint": "old_def:OldTrial", "searcher": {"metric": "accuracy"}, "environment": {"image": IMAGE}}
    env = EnvContext(experiment_config=ExperimentConfig(config), hparams={"global_batch_size": 4}, trial_seed=1)
    try:
        trial_class = _launch.load(env, SourceSnapshot(str(tmp_path)))
        _, controller = _launch.build(trial_class, env, source=None)
        controller.start(None, None, weights_only=False)
        averages, _ = controller.train(5)
        assert averages["loss"] > 0 and controller.validate()["accuracy"] == 1.0
        controller.close()
    finally:
        sys.modules["tensorflow"] = tensorflow
