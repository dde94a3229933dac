"""The examples in PyTorch by the commands of their READMEs, shortened; the tutorial has a test of its own."""

import re

import pytest
from cluster import REPOSITORY, Cluster
from images import few_images

EXAMPLES = REPOSITORY / "examples"
BATCHES = 10
SHORT = {
    ("mnist_pytorch", "distributed.yaml"): ["searcher.max_steps=1", f"batches_per_step={BATCHES}"],
    ("mnist_pytorch", "adaptive.yaml"): [
        "searcher.max_steps=2",
        f"batches_per_step={BATCHES // 2}",
        "searcher.max_rungs=2",
        "searcher.max_trials=3",
    ],
    ("mnist_pytorch_context", "const.yaml"): [f"searcher.max_length.batches={BATCHES}"],
    ("mnist_pytorch_multi_output", "const.yaml"): ["searcher.max_steps=1", f"batches_per_step={BATCHES}"],
    ("cifar10_pytorch", "const.yaml"): ["searcher.max_length.epochs=1", f"records_per_epoch={32 * BATCHES}"],
    ("cifar10_pytorch", "random.yaml"): [f"searcher.max_length.batches={BATCHES}", "searcher.max_trials=2"],
    ("fasterrcnn_coco_pytorch", "const.yaml"): [
        f"searcher.max_length.batches={BATCHES}",
        f"min_validation_period.batches={BATCHES}",
        "data.pictures=30",
    ],
}
IMAGES = {"cifar10_pytorch": "data.stand_in"} | dict.fromkeys(
    ("mnist_pytorch", "mnist_pytorch_context", "mnist_pytorch_multi_output"), "data.directory"
)
TRIALS = {"adaptive.yaml": 3, "random.yaml": 2}


def commands(example):
    """The configurations that an example's README submits."""
    return re.findall(r"^    det experiment create (\S+) \.", (EXAMPLES / example / "README.md").read_text(), re.M)


def test_every_command_of_a_readme_is_run_here_or_is_the_tutorials():
    named = {(example, config) for example, _ in SHORT for config in commands(example)}
    assert named == {*SHORT, ("mnist_pytorch", "const.yaml")}


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """All of them on two slots, side by side."""
    directory = tmp_path_factory.mktemp("examples")
    cluster = Cluster(directory / "cluster", options=["--slots", "2"]).start()
    try:
        ids = {}
        for (example, config), short in SHORT.items():
            if "pictures" in str(short):
                short = [*short, f"data.directory={directory / 'pictures'}"]
            words = [word for option in short for word in ("--config", option)]
            if example in IMAGES:
                words += few_images(IMAGES[example])
            ids[example, config] = cluster.create(EXAMPLES / example, *words, config=config)
        yield cluster, ids
    finally:
        cluster.end()


@pytest.mark.parametrize(("example", "config"), SHORT)
def test_an_example_runs_by_the_command_of_its_readme(submitted, example, config):
    cluster, ids = submitted
    id = ids[example, config]
    cluster.wait_for_state(id, "COMPLETED", seconds=300)
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    assert len(trials) == TRIALS.get(config, 1)
    assert max(trial["totalBatchesProcessed"] for trial in trials) == BATCHES
    for trial in trials:
        done = cluster.get(f"trials/{trial['id']}/workloads")["workloads"]
        size = trial["hparams"]["global_batch_size"]
        trained = sum(w["training"]["numInputs"] for w in done if w.get("training"))
        assert trained == size * trial["totalBatchesProcessed"]
        assert all(w["validation"]["numInputs"] > 0 for w in done if w.get("validation"))
