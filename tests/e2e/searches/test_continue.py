"""`det experiment continue`: a finished experiment goes on, with the numbers of one that never ended."""

import time

import pytest
from cluster import HERE, kill_process, wait_until

NOISY = HERE / "models" / "noisy"
LENGTH = "searcher.max_length.batches="


OPTIONS = ["--slots", "2"]


def finished(cluster, *options):
    words = [word for option in options for word in ("--config", option)]
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.0", *words)
    cluster.wait_for_state(id, "COMPLETED")
    return id


def numbers(cluster, experiment):
    return numbers_of(cluster, cluster.trial_of(experiment)["id"])


def numbers_of(cluster, trial):
    """The metrics of each batch, and of the validations."""
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


SEARCH = [
    "searcher.name=random",
    "searcher.max_trials=3",
    "searcher.max_concurrent_trials=2",
    LENGTH + "100",
    "hyperparameters.factor={type: double, minval: 0, maxval: 1}",
]


def trials_of(cluster, id):
    return sorted(cluster.get(f"experiments/{id}/trials")["trials"], key=lambda trial: trial["id"])


def outcome(cluster, id):
    """Of each trial of a search: its hyperparameters and all its metrics."""
    return [(trial["hparams"]["factor"], numbers_of(cluster, trial["id"])) for trial in trials_of(cluster, id)]


@pytest.fixture(scope="module")
def straight_search(cluster):
    return outcome(cluster, finished(cluster, *SEARCH))


def slow_search(cluster, *options):
    words = [word for option in [*SEARCH, *options] for word in ("--config", option)]
    return cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.02", *words)


@pytest.mark.parametrize(("verb", "kills_master"), [("kill", True), ("cancel", False)])
def test_a_search_that_was_stopped_goes_on_with_the_trials_that_it_would_have_had(
    cluster, straight_search, verb, kills_master
):
    id = slow_search(cluster)
    trial = wait_until(lambda: trials_of(cluster, id), "a trial")[0]["id"]
    wait_until(lambda: cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], "a checkpoint")
    cluster.run("experiment", verb, id)
    cluster.wait_for_state(id, "CANCELED")
    assert len(trials_of(cluster, id)) == 2, "the third has not begun"
    refused = cluster.run("experiment", "continue", id, "--config", "searcher.max_trials=9", code=1)
    assert f"searcher of experiment {id} cannot be changed, because its search continues where it ended" in refused
    assert f"Continued experiment {id}" in cluster.run("experiment", "continue", id)
    if kills_master:
        cluster.master.kill()
        cluster.start_master()
    cluster.wait_for_state(id, "COMPLETED")
    assert outcome(cluster, id) == straight_search
    assert "all of its trials are complete" in cluster.run("experiment", "continue", id, code=1)


def test_trials_of_a_search_that_failed_go_on_and_those_that_are_complete_stay(cluster, straight_search):
    id = slow_search(cluster, "max_restarts=0", "searcher.max_concurrent_trials=1")
    shims = wait_until(lambda: [s for s in cluster.shims() if s["taskPid"] > 1], "its process")
    trial = trials_of(cluster, id)[0]["id"]
    wait_until(lambda: cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], "a checkpoint")
    kill_process(shims[0]["taskPid"])
    cluster.wait_for_state(id, "COMPLETED")
    states = [trial["state"] for trial in trials_of(cluster, id)]
    assert states == ["STATE_ERROR", "STATE_COMPLETED", "STATE_COMPLETED"]
    cluster.run("experiment", "continue", id, "--config", "max_restarts=2")
    cluster.wait_for_state(id, "COMPLETED")
    assert outcome(cluster, id) == straight_search
    assert {trial["state"] for trial in trials_of(cluster, id)} == {"STATE_COMPLETED"}


def test_what_cannot_be_continued_is_said(cluster):
    id = finished(cluster, LENGTH + "10")
    text = cluster.run("experiment", "continue", id, code=1)
    assert f"trained for 10 batches, but searcher.max_length is 10; continue experiment {id} with a greater" in text
    assert "not found" in cluster.run("experiment", "continue", 999, code=1)
    cluster.run("experiment", "continue", id, "--config", LENGTH + "20", "-f")
    cluster.wait_for_state(id, "COMPLETED")
