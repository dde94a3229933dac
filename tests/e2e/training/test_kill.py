"""`kill -9` of anything, at any moment: same weights, same metrics, and nothing is lost or doubled."""

import os
import pathlib
import random
import time

import pytest
from cluster import Cluster
from one_slot import SEED, disturb, kill_agent, kill_master, kill_shim, kill_trial, outcome, pause


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("undisturbed") / "cluster").start()
    try:
        id = cluster.create(pathlib.Path(__file__).parents[1] / "models" / "noisy")
        began = time.monotonic()
        cluster.wait_for_state(id, "COMPLETED")
        return outcome(cluster, id) | {"seconds": time.monotonic() - began}
    finally:
        cluster.end()


KILLS = int(os.environ.get("DET_KILLS", "2"))  # of each kind


KINDS = {
    "the trial": (kill_trial, False),
    "the shim": (kill_shim, False),
    "det up": (kill_master, False),
    "the agent": (kill_agent, True),
    "the master": (kill_master, True),
    "nothing, it is paused and activated": (pause, False),
}


@pytest.mark.parametrize("what", KINDS)
def test_kill_of_one_thing_changes_nothing(start, noisy, undisturbed, what):
    act, apart = KINDS[what]
    cluster = start(apart=apart)
    for number in range(KILLS):
        seed = f"{SEED}: {what}, {number}"  # Of its own for each kind: the moments differ.
        random.seed(seed)
        counted, caused = disturb(cluster, noisy, undisturbed, [(random.uniform(0, 0.9), act)])
        if caused:
            assert counted == caused


@pytest.mark.parametrize("apart", [False, True], ids=["det up", "apart"])
def test_many_kills_of_everything_in_one_run_change_nothing(start, noisy, undisturbed, apart):
    random.seed(f"{SEED}: all, {apart}")
    acts = [kill_trial, kill_shim, kill_master, pause, kill_agent if apart else kill_master]
    random.shuffle(acts)
    moments = sorted(random.uniform(0, 0.95) for _ in acts)
    disturb(start(apart=apart), noisy, undisturbed, list(zip(moments, acts, strict=True)))
