"""The tutorial as it is written, with the two commands of its first page: `det up` and `det experiment create`."""

import json
import pathlib
import re

import pytest
import torch
from cluster import REPOSITORY
from images import few_images

EXAMPLES = REPOSITORY / "examples"
pytestmark = pytest.mark.skipif(
    not pathlib.Path("/usr/share/datasets/fashion-mnist").is_dir(), reason="needs the package dataset-fashion-mnist"
)


OPTIONS = ["--slots", "2"]  # a thread a slot: tests beside it want the other core


@pytest.fixture(scope="module")
def tutorial(cluster):
    """The classic tutorial, submitted and trained: what was printed and the experiment's id."""
    text = cluster.run("experiment", "create", "const.yaml", ".", directory=EXAMPLES / "mnist_pytorch")
    id = int(re.search(r"Created experiment (\d+)", text).group(1))
    cluster.wait_for_state(id, "COMPLETED", seconds=600)
    return text, id


def test_create_prints_the_three_lines(tutorial):
    text, id = tutorial
    lines = text.splitlines()
    assert re.fullmatch(
        r"Preparing files \(\.\./mnist_pytorch\) to send to master\.\.\. \d\.\d[KM]B and 4 files", lines[0]
    )
    assert lines[1:] == [f"Created experiment {id}", f"Activated experiment {id}"]


def test_the_model_has_learned(cluster, tutorial):
    trial = cluster.trial_of(tutorial[1])
    training = cluster.metrics(trial["id"], "training")
    assert [batches for batches, _ in training] == list(range(100, 2001, 100))
    assert set(training[0][1]["avg_metrics"]) == {"loss", "train_error"}
    batches, metrics = cluster.metrics(trial["id"], "validation")[-1]
    assert batches == 2000
    assert 0.15 < metrics["validation_metrics"]["validation_error"] < 0.30


def test_wait_says_that_it_has_completed(cluster, tutorial):
    assert "COMPLETED" in cluster.run("experiment", "wait", tutorial[1])


def test_the_experiment_is_found_by_its_id_and_by_its_description(cluster, tutorial):
    assert re.search(rf"^\s*{tutorial[1]} \|.*COMPLETED", cluster.run("experiment", "list"), re.MULTILINE)
    assert "mnist_pytorch_const" in cluster.run("experiment", "list")
    listed = json.loads(cluster.run("experiment", "list", "--json"))
    assert [e["description"] for e in listed if e["id"] == tutorial[1]] == ["mnist_pytorch_const"]
    found = cluster.get("experiments?description=mnist_pytorch_const")["experiments"]
    assert [e["id"] for e in found] == [tutorial[1]]


def test_a_checkpoint_is_listed_downloaded_and_loaded(cluster, tutorial, tmp_path):
    text = cluster.run("experiment", "list-checkpoints", tutorial[1])
    uuid = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text).group(0)
    cluster.run("checkpoint", "download", uuid, "-o", tmp_path / "model")
    state = torch.load(tmp_path / "model" / "state-dict.pth", weights_only=False)
    keys = {"models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "callbacks"}
    assert keys <= set(state)
    assert next(tuple(w.shape) for w in state["models_state_dict"][0].values()) == (40, 1, 5, 5)
    assert (tmp_path / "model" / "code" / "model_def.py").read_bytes() == (
        EXAMPLES / "mnist_pytorch" / "model_def.py"
    ).read_bytes()


def test_the_context_generation_trains_with_a_shortened_length(cluster):
    shorter = ("--config", "searcher.max_length.batches=200", *few_images())
    id = cluster.create(EXAMPLES / "mnist_pytorch_context", *shorter)
    cluster.wait_for_state(id, "COMPLETED", seconds=600)
    ((batches, metrics),) = cluster.metrics(cluster.trial_of(id)["id"], "validation")
    assert batches == 200
    assert 0 < metrics["validation_metrics"]["validation_loss"] < 1
    assert 0.6 < metrics["validation_metrics"]["accuracy"] < 1


def test_the_master_is_chosen_by_flag_or_environment(cluster):
    address = f"127.0.0.1:{cluster.port}"
    for variable in ("DET_MASTER", "DETERMINED_MASTER", "DET_MASTER_ADDR"):
        cluster.run("experiment", "list", master=False, environment={variable: address})
    cluster.run("-m", address, "experiment", "list", master=False, environment={"DET_MASTER": "127.0.0.1:1"})
    cluster.run("-m", cluster.url, "experiment", "list", master=False)
    cluster.run("experiment", "list", master=False, environment={"DET_MASTER": "127.0.0.1:1"}, code=1)
