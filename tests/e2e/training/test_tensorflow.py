"""Trials on TensorFlow on the real program: the examples, a kill, a pause, two slots, a script that submits itself."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest
from cluster import REPOSITORY, kill_process, wait_until
from images import few_images

sys.path.insert(0, str(REPOSITORY / "python"))
from determined.exec import _requirements

EXAMPLES = REPOSITORY / "examples"
pytestmark = pytest.mark.skipif(
    not pathlib.Path("/usr/share/datasets/fashion-mnist").is_dir(), reason="needs the package dataset-fashion-mnist"
)
PATIENCE = 600.0  # the first of all builds the environment


OPTIONS = ["--slots", "2"]


def finished(cluster, id):
    """The last validation of an experiment that has come to its end, and its newest checkpoint's directory."""
    cluster.wait_for_state(id, "COMPLETED", seconds=PATIENCE)
    trial = cluster.trial_of(id)["id"]
    newest = max(
        cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], key=lambda c: c["metadata"]["steps_completed"]
    )
    metrics = cluster.metrics(trial, "validation")[-1][1]["validation_metrics"]
    return metrics, cluster.directory / "checkpoints" / newest["uuid"]


@pytest.mark.parametrize(
    ("name", "config", "length", "metric", "least"),
    [
        ("mnist_estimator", "const.yaml", ["searcher.max_length.batches=300"], "accuracy", 0.7),
        ("mnist_estimator_custom", "const.yaml", ["searcher.max_length.batches=200"], "macro_f1", 0.65),
        ("mnist_keras", "distributed.yaml", ["searcher.max_length.batches=200"], "val_accuracy", 0.7),
        ("mnist_tp", "distributed.yaml", ["searcher.max_steps=2", "min_checkpoint_period=1"], "val_accuracy", 0.7),
    ],
)
def test_an_example_on_tensorflow_learns(cluster, name, config, length, metric, least):
    options = [word for setting in length for word in ("--config", setting)]
    metrics, place = finished(cluster, cluster.create(EXAMPLES / name, *options, config=config))
    assert least < metrics[metric] < 1
    assert (place / "code" / "model_def.py").is_file()
    if name == "mnist_estimator":
        assert list((place / "mnist_parsing").glob("*/saved_model.pb"))
        assert sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) < 32 << 20
    if name == "mnist_estimator_custom":
        assert (place / "notes.txt").read_text() == "learning rate 0.001\n"
        assert list((place / "raw").glob("*/saved_model.pb"))


def digest(place):
    found = hashlib.sha256()
    for file in sorted(place.glob("model.ckpt-*.data-*")):
        found.update(file.read_bytes())
    return found.hexdigest()


def outcome(cluster, id):
    metrics, place = finished(cluster, id)
    trial = cluster.trial_of(id)["id"]
    return cluster.metrics(trial, "training"), metrics, digest(place)


def test_an_estimator_that_was_killed_and_paused_ends_with_the_same_bits(cluster):
    options = []
    for setting in (
        "searcher.max_length.batches=240",
        "scheduling_unit=20",
        "min_checkpoint_period.batches=60",
        "reproducibility.experiment_seed=5",
        "resources.slots_per_trial=1",
    ):
        options += ["--config", setting]
    options += few_images()
    undisturbed = outcome(cluster, cluster.create(EXAMPLES / "mnist_estimator_custom", *options))
    disturbed = cluster.create(EXAMPLES / "mnist_estimator_custom", *options)
    trial = cluster.trial_of(disturbed)["id"]

    def trained(batches):
        wait_until(lambda: any(at >= batches for at, _ in cluster.metrics(trial, "training")), batches, PATIENCE)

    trained(80)
    (shim,) = wait_until(
        lambda: [one for one in cluster.shims() if one.get("taskPid", 0) > 1], "a process of the trial"
    )
    kill_process(shim["taskPid"])
    trained(140)
    cluster.run("experiment", "pause", disturbed)
    wait_until(lambda: not cluster.shims(), "no process of the paused trial")
    cluster.run("experiment", "activate", disturbed)
    assert outcome(cluster, disturbed) == undisturbed
    assert "skipping the input up to batch" in cluster.log_text(disturbed)


def test_a_native_script_submits_itself(cluster, tmp_path):
    layer = _requirements.Layer("TensorFlow trials", _requirements.TENSORFLOW, tmp_path)
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DET")},
        "DET_MASTER": cluster.url,
        "PYTHONPATH": str(REPOSITORY / "python"),
    }
    ended = subprocess.run(
        [home / "bin" / "python", EXAMPLES / "native_mnist_estimator" / "native.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert "finished after batch 200" in ended.stdout and "one batch was trained here" not in ended.stdout
    id = max(one["id"] for one in cluster.get("experiments")["experiments"])
    metrics, place = finished(cluster, id)
    assert metrics["accuracy"] > 0.65
    assert list((place / "parsing").glob("*/saved_model.pb"))
    assert json.loads((place / "load_data.json").read_text())["trial_type"] == "EstimatorTrial"
