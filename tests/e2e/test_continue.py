"""`det experiment continue`: a finished experiment of one trial goes on, with the numbers of one that never ended."""

import time

import pytest
from cluster import HERE, Cluster, kill_process, wait_until

NOISY = HERE / "models" / "noisy"
LENGTH = "searcher.max_length.batches="


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("continue") / "cluster", options=["--slots", "2"]).start()
    yield it
    it.end()


def finished(cluster, *options):
    words = [word for option in options for word in ("--config", option)]
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.0", *words)
    cluster.wait_for_state(id, "COMPLETED")
    return id


def numbers(cluster, experiment):
    """The metrics of each batch, and of the validations."""
    trial = cluster.trial_of(experiment)["id"]
    rows = [batch for _, metrics in cluster.metrics(trial, "training") for batch in metrics["batch_metrics"]]
    return rows, {batches: metrics["validation_metrics"] for batches, metrics in cluster.metrics(trial, "validation")}


@pytest.fixture(scope="module")
def straight(cluster):
    return numbers(cluster, finished(cluster))


def test_a_finished_experiment_goes_on_as_if_it_had_not_ended(cluster, straight):
    id = finished(cluster, LENGTH + "100")
    trial = cluster.trial_of(id)
    text = cluster.run("experiment", "continue", id, "--config", LENGTH + "200")
    assert f"Continued experiment {id}" in text
    cluster.wait_for_state(id, "COMPLETED")
    rest = cluster.directory / "rest.yaml"
    rest.write_text("searcher: {max_length: {batches: 300}}\nname: in three parts\n")
    cluster.run("experiment", "continue", id, "--config-file", rest)
    cluster.wait_for_state(id, "COMPLETED")
    assert numbers(cluster, id) == straight
    again = cluster.trial_of(id)
    assert (again["id"], again["taskId"], again["hparams"]) == (trial["id"], trial["taskId"], trial["hparams"])
    assert again["totalBatchesProcessed"] == 300 and again["restarts"] == 0
    assert cluster.experiment(id)["name"] == "in three parts"


def test_one_that_is_killed_and_one_that_is_canceled_go_on(cluster, straight):
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.02")
    trial = cluster.trial_of(id)["id"]
    wait_until(lambda: cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], "a checkpoint")
    cluster.run("experiment", "kill", id)
    cluster.wait_for_state(id, "CANCELED")
    assert "Continued" in cluster.run("experiment", "continue", id)
    shims = wait_until(lambda: [s for s in cluster.shims() if s["taskPid"] > 1], "its process")
    time.sleep(0.3)
    kill_process(shims[0]["taskPid"])
    cluster.run("experiment", "cancel", id)
    cluster.wait_for_state(id, "CANCELED", "COMPLETED")
    cluster.run("experiment", "continue", id)
    cluster.wait_for_state(id, "COMPLETED")
    assert numbers(cluster, id) == straight


def test_what_cannot_be_continued_is_said(cluster):
    id = finished(cluster, LENGTH + "10")
    text = cluster.run("experiment", "continue", id, code=1)
    assert f"trained for 10 batches, and searcher.max_length says 10; continue experiment {id} with a greater" in text
    assert "not found" in cluster.run("experiment", "continue", 999, code=1)
    cluster.run("experiment", "continue", id, "--config", LENGTH + "20", "-f")
    cluster.wait_for_state(id, "COMPLETED")
