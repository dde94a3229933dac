"""Checkpoints that were saved, half or whole, by trials that were killed before they could report them."""

import pytest
from cluster import HERE, kill_process, wait_until
from cxx import needs_det_trial, running

HELD = HERE / "models" / "held"


def drafts(storage):
    """The names of saves that are under way, or were."""
    return {path.name for path in storage.glob(".*.partial-*")}


def uuid_of(draft):
    return draft.removeprefix(".").partition(".")[0]


@pytest.fixture
def cluster(tmp_path, compiled):
    with running(tmp_path, compiled) as cluster:
        yield cluster


@pytest.mark.parametrize("config", ["const.yaml", "script.yaml", pytest.param("cxx.yaml", marks=needs_det_trial)])
def test_what_a_killed_trial_saved_and_never_reported_goes_with_the_end_of_its_experiment(cluster, config):
    storage = cluster.directory / "checkpoints"
    storage.mkdir(exist_ok=True)
    (storage / "hold").touch()
    id = cluster.create(HELD, config=config)

    # A trial in C++ is compiled first.
    (half,) = wait_until(lambda: drafts(storage), "a save that has begun", seconds=400)
    kill_process(cluster.shims()[0]["taskPid"])  # in the middle of its save
    (draft,) = wait_until(lambda: drafts(storage) - {half}, "the save of the next run")
    cluster.master.kill()  # so that nobody hears the report
    (storage / "hold").unlink()
    wait_until((storage / uuid_of(draft)).exists, "a checkpoint that is saved as a whole")
    kill_process(cluster.shims()[0]["taskPid"])
    cluster.start_master()
    assert (storage / half).exists() and (storage / uuid_of(draft)).exists()

    cluster.wait_for_state(id, "COMPLETED")
    trial = cluster.trial_of(id)
    assert trial["restarts"] == 2
    states = {c["uuid"]: c["state"] for c in cluster.get(f"trials/{trial['id']}/checkpoints")["checkpoints"]}
    assert uuid_of(half) not in states and uuid_of(draft) not in states

    def stored():
        return {path.name for path in storage.iterdir()} - {cluster.get("master")["clusterId"]}  # TensorBoard's files

    kept = {uuid for uuid, state in states.items() if state == "STATE_COMPLETED"}
    wait_until(lambda: stored() <= kept, f"an end of {half} and of {draft}", seconds=30)
    assert stored(), "what its policy keeps stays"
    cluster.run("experiment", "delete", id, "--yes")
    wait_until(lambda: not stored(), "an empty storage")
