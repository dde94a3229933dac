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
from determined._tensorflow import _earlier, _era
from determined._tensorflow._era import Era

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


SECOND = "determinedai/environments:cuda-11.0-pytorch-1.7-tf-2.4-gpu-0.9.0"
NEW = "determinedai/environments:cuda-11.3-pytorch-1.12-tf-2.11-gpu-0.20.1"
KERAS = "import tensorflow as tf\nfrom determined.keras import TFKerasTrial\nadam = tf.keras.optimizers.Adam\n"
ESTIMATOR = "import tensorflow as tf\nimport determined.estimator\n"
STEPS = {"max_steps": 3, "max_length": {"batches": 300}}


@pytest.mark.parametrize(
    ("code", "config", "era", "reason"),
    [
        (ESTIMATOR, {"environment": {"image": IMAGE}}, Era.FIRST, "names TensorFlow 1.15"),
        (ESTIMATOR, {"environment": {"image": {"cpu": "x", "cuda": IMAGE}}}, Era.FIRST, "names TensorFlow 1.15"),
        (ESTIMATOR, {"environment": {"image": SECOND}}, Era.EARLIER, "names TensorFlow 2.4"),
        (ESTIMATOR, {"environment": {"image": NEW}}, Era.OURS, "names TensorFlow 2.11"),
        (ESTIMATOR, {"searcher": STEPS}, Era.FIRST, "searcher.max_steps"),
        (ESTIMATOR + "tf.random.set_seed(1)", {"searcher": STEPS}, Era.EARLIER, "searcher.max_steps"),
        (ESTIMATOR + "tf.layers.dense", {}, Era.FIRST, "the code uses tf.layers.dense"),
        (ESTIMATOR + "tf.contrib.slim", {}, Era.FIRST, "the code uses tf.contrib.slim"),
        (ESTIMATOR + "tf.compat.v1.layers.dense", {}, Era.EARLIER, "entrypoint: model:Trial"),
        (ESTIMATOR + "tf.layers.dense\ntf.random.set_seed", {}, Era.EARLIER, "entrypoint: model:Trial"),
        (KERAS, {}, Era.EARLIER, "entrypoint: model:Trial"),
        (KERAS, {"searcher": {"max_time": 100}}, Era.OURS, "searcher.max_time"),
        (KERAS, {"entrypoint": "python3 model.py"}, Era.OURS, ""),
        ("import tensorflow as tf\nimport determined.pytorch", {}, Era.OURS, ""),
    ],
)
def test_configuration_and_code_say_which_tensorflow_is_meant(
    code: str, config: Any, era: Era, reason: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "model.py").write_text(code)
    found = _era.of({"entrypoint": "model:Trial", **config}, tmp_path)
    assert found.era is era and reason in found.reason


def test_a_version_in_the_requirements_goes_before_everything_else(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model.py").write_text(ESTIMATOR)
    (tmp_path / "requirements.txt").write_text("pandas\ntensorflow-cpu==2.15.1\n")
    config = {"entrypoint": "model:Trial", "environment": {"image": IMAGE}, "searcher": STEPS}
    assert _era.of(config, tmp_path) == (Era.OURS, "requirements.txt")


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
        _earlier.give_back()
