"""Checkpoints that are written while training goes on, and what happens if it ends just then."""

import random

import pytest
from cluster import HERE, kill_process, wait_until
from one_slot import SEED, weights_hash

WIDE = HERE / "models" / "wide"
LAST = 60


def outcome(cluster, id):
    cluster.wait_for_state(id, "COMPLETED", seconds=300)
    trial = cluster.trial_of(id)["id"]
    saved = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    (newest,) = [c for c in saved if c["metadata"]["steps_completed"] == LAST]
    place = cluster.directory / "checkpoints" / newest["uuid"]
    return cluster.metrics(trial, "training"), cluster.metrics(trial, "validation"), weights_hash(place)


def drafts(cluster):
    return {path.name for path in (cluster.directory / "checkpoints").glob(".*.partial-*")}


def trained(cluster, trial):
    return max((batches for batches, _ in cluster.metrics(trial, "training")), default=0)


def next_draft(cluster, id, known):
    """Waits for a checkpoint that begins to be written; None once the experiment has ended."""

    def either():
        return drafts(cluster) - known or cluster.trial_of(id)["state"] == "STATE_COMPLETED"

    begun = wait_until(either, "a checkpoint on its way", seconds=120, pause=0.002)
    return None if begun is True else begun


def wait_until_published(cluster, begun):
    wait_until(lambda: drafts(cluster).isdisjoint(begun), "the end of the save", pause=0.002)


@pytest.fixture
def cluster(start):
    return start(apart=False)


def test_training_goes_on_while_a_checkpoint_is_written(cluster):
    id = cluster.create(WIDE)
    cluster.wait_for_state(id, "COMPLETED", seconds=300)
    trial = cluster.trial_of(id)["id"]
    saved = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    stored = {c["metadata"]["steps_completed"]: c["reportTime"] for c in saved}
    assert stored.keys() == set(range(4, LAST + 1, 4))
    answers = cluster.get(f"trials/metrics/training_metrics?trialIds={trial}")
    answers = answers if isinstance(answers, list) else [answers]
    ended = {row["totalBatches"]: row["endTime"] for answer in answers for row in answer["result"]["metrics"]}
    assert any(ended[batches + 1] < stored[batches] for batches in stored if batches < LAST)
    assert all(stored[batches] < ended[batches + 5] for batches in stored if batches + 5 <= LAST), "one at a time"


def test_a_trial_that_is_killed_while_checkpoints_are_on_their_way_ends_with_the_same_bits(cluster):
    undisturbed = outcome(cluster, cluster.create(WIDE))
    random.seed(f"{SEED}: saving")
    id = cluster.create(WIDE)
    trial = cluster.trial_of(id)["id"]
    known, kills = set(), 0
    while kills < 5 and (begun := next_draft(cluster, id, known)):
        known |= begun
        if random.random() < 0.5:  # before the files are complete, or after training went on
            wait_until_published(cluster, begun)
        shims = [shim for shim in cluster.shims() if shim.get("taskPid", 0) > 1]
        if shims:
            kill_process(shims[0]["taskPid"])
            kills += 1
            wait_until(lambda: "going on" in cluster.log_text(id) or trained(cluster, trial), "a new run", seconds=60)
    assert kills > 0, f"the trial was never killed, DET_SEED={SEED}"
    assert outcome(cluster, id) == undisturbed, f"DET_SEED={SEED}"
    wait_until(lambda: not drafts(cluster), "nothing is left of what was half saved", seconds=30)
