"""Generation x ranks x interruption x phase: every cell ends with the bits of a run that nothing disturbed.

Compared are the metrics of every batch and validation, the records, and all that the last checkpoint holds: weights,
optimizers, schedulers, callbacks, waiting gradients, the generators of every rank.
"""

import itertools
import pathlib

import pytest
from several_slots import (
    BATCHES,
    MOMENTS,
    RANKS,
    Held,
    WithSlots,
    kill_agent,
    kill_master,
    kill_process,
    pause,
    preempt,
    release,
    tasks_of,
)
from state import state_hash

SIZES = (1, 2)
GENERATIONS = {"context": "model_def:RanksTrial", "classic": "model_def:ClassicRanksTrial"}
CELLS = list(itertools.product(GENERATIONS, SIZES, MOMENTS))
LONGEST = {"mid-epoch": 20, "epoch end": 14, "validation": 16, "checkpoint": 10}
"""A promoted trial trains to half of it, waits, and goes on: after 10, 7, 8 (where it validates) and 5 (saves)."""


class Cell(Held):
    def __init__(self, cluster, directory, generation, size, moment, options=()):
        self.name = f"{generation}, {size} rank(s), {moment}"
        self.generation = generation
        chosen = [f"entrypoint={GENERATIONS[generation]}", *options]
        super().__init__(cluster, directory, size, moment, RANKS, chosen)

    def outcome(self, seconds=120):
        self.cluster.wait_for_state(self.id, "COMPLETED", seconds=seconds)
        trial = self.cluster.trial_of(self.id)["id"]
        return left_behind(self.cluster, trial, BATCHES)


def left_behind(cluster, trial, batches):
    """All that must not depend on what happened on the way."""
    saved = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    newest = max(saved, key=lambda c: c["metadata"]["steps_completed"])
    assert newest["metadata"]["steps_completed"] == batches
    done = cluster.get(f"trials/{trial}/workloads?limit=1000&includeBatchMetrics=true")["workloads"]
    return {
        "training": [w["training"] | {"endTime": None} for w in done if w.get("training")],
        "validation": [w["validation"] | {"endTime": None} for w in done if w.get("validation")],
        "state": state_hash(cluster.directory / "checkpoints" / newest["uuid"]),
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """One for all: 24 ranks wait in it at a time."""
    cluster = WithSlots(tmp_path_factory.mktemp("matrix") / "cluster", slots=24)
    try:
        yield cluster.start()
    finally:
        cluster.end()


@pytest.fixture(scope="module")
def undisturbed(cluster, tmp_path_factory):
    """What a run leaves behind that nothing disturbed, by number of ranks; of the context generation."""
    directory = tmp_path_factory.mktemp("undisturbed")
    held = {size: Cell(cluster, directory / str(size), "context", size, "nowhere") for size in SIZES}
    found = {size: one.outcome() for size, one in held.items()}
    for outcome in found.values():
        assert all(v["metrics"]["avgMetrics"]["agree"] == 1.0 for v in outcome["validation"])
        ends = [0, *(t["totalBatches"] for t in outcome["training"])]
        assert [t["numInputs"] for t in outcome["training"]] == [8 * (b - a) for a, b in itertools.pairwise(ends)]
        assert {v["numInputs"] for v in outcome["validation"]} == {30}
    return found


def kill_rank(cluster, held):
    """The chief of trials of the classic generation, the last rank of the others."""
    for one in held:
        shims = tasks_of(cluster, one.id)
        kill_process(shims[0 if one.generation == "classic" else max(shims)]["taskPid"])
    release(held)


def search(cluster, directory, generation, size, *options):
    """A search of two trials, one at a time."""
    common = [f"resources.max_slots={size}", "hyperparameters.promoted=true", "searcher.max_trials=2", *options]
    return Cell(cluster, directory, generation, size, "nowhere", common)


def trials_of(cluster, experiment):
    cluster.wait_for_state(experiment, "COMPLETED")
    return sorted(cluster.get(f"experiments/{experiment}/trials")["trials"], key=lambda t: t["id"])


def by_batch(cluster, trial):
    """The metrics of each batch, whichever report they came in, and of each validation by batches."""
    rows = [batch for _, metrics in cluster.metrics(trial, "training") for batch in metrics["batch_metrics"]]
    return rows, {batches: metrics["validation_metrics"] for batches, metrics in cluster.metrics(trial, "validation")}


@pytest.fixture(scope="module")
def straight(cluster, tmp_path_factory):
    """The trials of a search without promotions, which validate and save after every batch, by number of ranks."""
    directory = tmp_path_factory.mktemp("straight")
    longest = max(LONGEST.values())
    options = ["searcher.name=random", f"searcher.max_length.batches={longest}", "min_validation_period.batches=1"]
    options += ["min_checkpoint_period.batches=1", f"checkpoint_storage.save_trial_latest={longest}"]
    searches = {size: search(cluster, directory / str(size), "context", size, *options) for size in SIZES}
    return {size: trials_of(cluster, one.id) for size, one in searches.items()}


def saved_at(cluster, trial, batches):
    saved = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    (uuid,) = [c["uuid"] for c in saved if c["metadata"]["steps_completed"] == batches]
    return state_hash(pathlib.Path(cluster.directory) / "checkpoints" / uuid)


def test_a_promotion_at_any_moment_changes_nothing(cluster, straight, tmp_path):
    halving = ["searcher.name=async_halving", "searcher.num_rungs=2", "searcher.divisor=2"]
    searches = {}
    for number, (generation, size, moment) in enumerate(CELLS):
        length = f"searcher.max_length.batches={LONGEST[moment]}"
        # One way the trial that has just reached its rung is promoted, the other way the one that has given way to it.
        better = f"searcher.smaller_is_better={'true' if generation == 'context' else 'false'}"
        options = [length, better, *halving]
        searches[generation, size, moment] = search(cluster, tmp_path / f"{number}", generation, size, *options)
    came_back = 0
    for (_, size, moment), one in searches.items():
        longest = LONGEST[moment]
        trials = trials_of(cluster, one.id)
        assert sorted(t["totalBatchesProcessed"] for t in trials) == [longest // 2, longest], one.name
        for trial, other in zip(trials, straight[size], strict=True):
            batches = trial["totalBatchesProcessed"]
            runs = {line.get("allocationId") for line in cluster.log_lines(trial["id"])} - {None, ""}
            came_back += len(runs) - 1
            rows, validations = by_batch(cluster, trial["id"])
            all_rows, all_validations = by_batch(cluster, other["id"])
            assert rows == all_rows[:batches], one.name
            assert {longest // 2, batches} <= validations.keys()
            assert validations == {at: all_validations[at] for at in validations}, one.name
            assert saved_at(cluster, trial["id"], batches) == saved_at(cluster, other["id"], batches), one.name
    assert came_back > 0, "nobody gave the slots away while waiting for the promotion"


# The agent last: trials wait until a new one has a warm worker.
@pytest.mark.parametrize("act", [pause, preempt, kill_rank, kill_master, kill_agent])
def test_whatever_disturbs_a_trial_at_any_moment_changes_nothing(cluster, undisturbed, tmp_path, act):
    held = [Cell(cluster, tmp_path / f"{number}", *cell) for number, cell in enumerate(CELLS)]
    for one in held:
        one.wait()
    act(cluster, held)
    for one in held:
        assert one.outcome() == undisturbed[one.size], f"{one.name}, {act.__name__}"
        trial = cluster.get(f"trials/{cluster.trial_of(one.id)['id']}")["trial"]
        assert trial["restarts"] == (1 if act is kill_rank else 0), one.name
