"""The Native API for Estimators and Keras: what a script is for its user, and what for the cluster."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from runs import on_cluster

from determined.errors import InvalidExperimentException
from determined.experimental import Mode, estimator, keras

v1 = tf.compat.v1
CONFIG = {"hyperparameters": {"global_batch_size": 4}, "searcher": {"name": "single", "metric": "loss"}}
ESTIMATOR = """
import sys
import numpy as np
import tensorflow as tf
from determined.experimental import estimator

context = estimator.init({config}, context_dir=".")
optimizer = context.wrap_optimizer(tf.compat.v1.train.AdamOptimizer())
columns = [tf.feature_column.numeric_column("x", shape=(6,))]
classifier = tf.compat.v1.estimator.DNNClassifier([4], columns, optimizer=optimizer)

def data():
    x = np.ones((12, 6), np.float32)
    pairs = tf.data.Dataset.from_tensor_slices(({{"x": x}}, np.zeros(12, np.int64)))
    return context.wrap_dataset(pairs).batch(context.get_per_slot_batch_size())

receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn({{"x": tf.io.FixedLenFeature([6], tf.float32)}})
context.serving_input_receiver_fns["parsing"] = receiver
context.train_and_evaluate(classifier, tf.estimator.TrainSpec(data), tf.estimator.EvalSpec(data, steps=None))
raise SystemExit("never reached on the cluster")
"""


def test_an_estimator_script_trains_on_the_cluster(tmp_path: pathlib.Path) -> None:
    context, controller = on_cluster(ESTIMATOR.format(config=CONFIG), tmp_path, "loss")
    averages, rows = controller.train(3)
    assert len(rows) == 3 and averages["loss"] > 0 and "accuracy" in controller.validate()
    (tmp_path / "saved").mkdir()
    controller.save(str(tmp_path / "saved"), {})
    assert list((tmp_path / "saved" / "parsing").iterdir())
    assert type(context).__name__ == "EstimatorNativeContext"
    controller.close()


@pytest.mark.parametrize("options", [{"local": True, "test": True}, {"local": True}, {"mode": Mode.LOCAL}])
def test_the_local_test_trains_one_batch_here(options: Any, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)
    caplog.set_level("INFO")
    context = estimator.init(CONFIG, **options)
    optimizer = context.wrap_optimizer(v1.train.AdamOptimizer())
    columns = [tf.feature_column.numeric_column("x", shape=(2,))]

    def data() -> Any:
        pairs = tf.data.Dataset.from_tensor_slices(({"x": np.ones((8, 2), np.float32)}, np.zeros(8, np.int64)))
        return context.wrap_dataset(pairs).batch(4)

    classifier = v1.estimator.DNNClassifier([4], columns, optimizer=optimizer)
    context.train_and_evaluate(classifier, tf.estimator.TrainSpec(data), tf.estimator.EvalSpec(data))
    assert "the test of NativeEstimatorTrial passed" in caplog.text
    assert ("runs only a test" in caplog.text) is (options == {"local": True})


def test_who_runs_the_script_submits_it_to_the_master_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "script.py"), "--size", "3"])
    (tmp_path / "script.py").write_text("")
    monkeypatch.setenv("DET_MASTER", "http://127.0.0.1:2")
    for init in (estimator.init, keras.init):
        with pytest.raises(Exception, match=r"127\.0\.0\.1:1"):
            init(CONFIG, context_dir=str(tmp_path), master_url="http://127.0.0.1:1")
        with pytest.raises(Exception, match=r"127\.0\.0\.1:2"):
            init(CONFIG, context_dir=str(tmp_path))
        with pytest.raises(InvalidExperimentException, match="context_dir is empty"):
            init(CONFIG)
        with pytest.raises(InvalidExperimentException, match="is not below context_dir"):
            init(CONFIG, context_dir=str(pathlib.Path(__file__).parent))
