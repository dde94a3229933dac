"""Trials without work wait in their processes, on slots that anybody may have, and go on with the same bits."""

import pytest
from cluster import wait_until
from several_slots import RANKS, Held, WithSlots, pause_in_place, release, runs_of
from test_matrix import Cell

PAUSED_AT = ("mid-epoch", "checkpoint")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = WithSlots(tmp_path_factory.mktemp("waiting") / "cluster", slots=8, waiting=True)
    try:
        yield cluster.start()
    finally:
        cluster.end()


def test_paused_trials_go_on_in_their_processes_with_the_bits_of_undisturbed_ones(cluster, tmp_path):
    plain = {size: Cell(cluster, tmp_path / f"{size}", "context", size, "nowhere").outcome() for size in (1, 2)}
    for generation in ("context", "classic"):
        cells = [(size, moment) for size in (1, 2) for moment in PAUSED_AT]
        held = [Cell(cluster, tmp_path / f"{generation} {s} {m}", generation, s, m) for s, m in cells]
        for one in held:
            one.wait()
        pause_in_place(cluster, held)
        for one in held:
            assert one.outcome() == plain[one.size], one.name
            assert "in the same process" in cluster.log_text(one.id)
            assert len(runs_of(cluster, one.id)) == 1, one.name


def test_who_needs_the_slots_gets_them_and_the_trial_goes_on_from_its_checkpoint(start, tmp_path):
    cluster = start(options=["--slots", "1"], waiting=True)
    first = Held(cluster, tmp_path / "signals", 1, "mid-epoch")
    first.wait()
    cluster.run("experiment", "pause", first.id)
    release([first])
    wait_until(lambda: "paused after" in cluster.log_text(first.id), "the trial to wait")
    second = Held(cluster, tmp_path / "others", 1, "nowhere")
    expected = second.outcome()
    cluster.run("experiment", "activate", first.id)
    assert first.outcome() == expected
    assert len(runs_of(cluster, first.id)) == 2
    assert cluster.trial_of(first.id)["restarts"] == 0


def test_a_promoted_trial_goes_on_in_its_process(cluster):
    options = ["searcher.name=async_halving", "searcher.num_rungs=2", "searcher.divisor=2", "searcher.max_trials=4"]
    options += ["searcher.max_concurrent_trials=4", "searcher.max_length.batches=20", "hyperparameters.hold=nowhere"]
    id = cluster.create(RANKS, *(word for option in options for word in ("--config", option)))
    cluster.wait_for_state(id, "COMPLETED")
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    lengths = sorted(t["totalBatchesProcessed"] for t in trials)
    assert lengths in ([10, 10, 20, 20], [10, 20, 20, 20])  # the order of the reports decides who is promoted early
    runs = {line.get("allocationId") for t in trials for line in cluster.log_lines(t["id"])} - {None, ""}
    assert len(runs) == 4


def test_who_waits_too_long_leaves(start, tmp_path):
    cluster = start(options=["--slots", "1", "--idle-seconds", "2"], waiting=True)
    one = Held(cluster, tmp_path / "signals", 1, "mid-epoch")
    one.wait()
    cluster.run("experiment", "pause", one.id)
    release([one])
    wait_until(lambda: "paused after" in cluster.log_text(one.id), "the trial to wait")
    wait_until(lambda: not cluster.shims(), "its process to leave")
    assert cluster.experiment(one.id)["state"] == "STATE_PAUSED"
