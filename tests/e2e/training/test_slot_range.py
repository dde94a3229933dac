"""Trials with a range of slots: they shrink for others, and grow when there is room."""

import itertools
import pathlib
import re

import pytest
from cluster import wait_until
from several_slots import WithSlots, runs_of

MODEL = pathlib.Path(__file__).parents[1] / "models" / "slot_range"
RECORDS, BATCHES = 64, 400


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = WithSlots(tmp_path_factory.mktemp("range") / "cluster", slots=2)
    try:
        yield cluster.start()
    finally:
        cluster.end()


def create(cluster, signals, *options):
    signals.mkdir(parents=True)
    options = (f"data.signals={signals}", *options)
    return cluster.create(MODEL, *(word for option in options for word in ("--config", option)))


def finish(cluster, id, signals):
    (signals / "hurry").touch()
    cluster.wait_for_state(id, "COMPLETED", seconds=180)
    return cluster.log_text(id)


def batches_of(text):
    """The records of each batch, over all slots, and the epochs and slots that it said."""
    records, epochs, slots = {}, {}, {}
    for batch, epoch, on, found in re.findall(r"batch (\d+) of epoch (\d+) on (\d+) slots has ([\d,]+)", text):
        records.setdefault(int(batch), []).extend(map(int, found.split(",")))
        epochs.setdefault(int(batch), set()).add(int(epoch))
        slots.setdefault(int(batch), set()).add(int(on))
    return [sorted(records[batch]) for batch in range(BATCHES)], epochs, slots


def losses(cluster, id):
    rows = cluster.metrics(cluster.trial_of(id)["id"], "validation")
    return {batches: metrics["validation_metrics"]["validation_loss"] for batches, metrics in rows}


def test_it_shrinks_for_who_waits_and_grows_when_they_are_gone_and_trains_the_same_batches(cluster, tmp_path):
    one = create(cluster, tmp_path / "one")
    wait_until(lambda: "batch 5 of" in cluster.log_text(one), "the trial to train")
    assert "starts on agent agent-0 with 2 slots, of 1 to 2" in cluster.log_text(one)
    other = create(cluster, tmp_path / "other", "resources.slots_per_trial=1")
    wait_until(
        lambda: "gives its 2 slots back, to resume from a checkpoint on 1" in cluster.log_text(one), "it to shrink"
    )
    wait_until(lambda: "on 1 slots has" in cluster.log_text(one), "it to go on")
    wait_until(lambda: "on 1 slots has" in cluster.log_text(other), "the other to run beside it")
    cluster.run("experiment", "kill", other)
    wait_until(lambda: "gives its 1 slot back, to resume from a checkpoint on 2" in cluster.log_text(one), "it to grow")
    text = finish(cluster, one, tmp_path / "one")
    found, epochs, slots = batches_of(text)
    assert len(runs_of(cluster, one)) == 3
    assert cluster.trial_of(one)["restarts"] == 0
    assert [on for on, _ in itertools.groupby(slots.values())] == [{2}, {1}, {2}]
    assert all(epochs[batch] == {batch * 8 // RECORDS} for batch in range(BATCHES))

    plain = create(cluster, tmp_path / "plain", "resources.slots_per_trial=1")
    expected, _, _ = batches_of(finish(cluster, plain, tmp_path / "plain"))
    assert found == expected
    assert losses(cluster, one) == pytest.approx(losses(cluster, plain), rel=1e-3, abs=1e-9)


def test_a_slot_that_keeps_its_batch_size_leaves_no_record_out_and_repeats_none(cluster, tmp_path):
    one = create(cluster, tmp_path / "one", "resources.slots_per_trial.batch=per_slot")
    wait_until(lambda: "batch 5 of" in cluster.log_text(one), "the trial to train")
    other = create(cluster, tmp_path / "other", "resources.slots_per_trial=1")
    wait_until(lambda: "on 1 slots has" in cluster.log_text(one), "it to go on with one slot")
    found, _, slots = batches_of(finish(cluster, one, tmp_path / "one"))
    cluster.run("experiment", "kill", other)
    assert {len(batch) for batch in found} == {4, 8}
    assert all(len(found[batch]) == 4 * max(slots[batch]) for batch in range(BATCHES))
    records = [record for batch in found for record in batch]
    for at in range(0, len(records) - RECORDS, RECORDS):
        assert sorted(records[at : at + RECORDS]) == list(range(RECORDS)), f"epoch {at // RECORDS}"


def test_what_cannot_be_kept_is_said_before_anything_runs(cluster):
    options = ["hyperparameters.global_batch_size=7", "resources.slots_per_trial={min: 2, max: 4}"]
    words = (word for option in options for word in ("--config", option))
    said = cluster.run("experiment", "create", MODEL / "const.yaml", MODEL, *words, code=1)
    assert "must be divisible by a number of slots from 2 to 4" in said
