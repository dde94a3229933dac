"""Trials in C++ on one slot and several: the numbers of Python's, and whatever disturbs them changes nothing."""

import pathlib
import re

import pytest
from cluster import REPOSITORY, kill_process, wait_until
from cxx import needs_det_trial
from images import few_images
from one_slot import weights_hash
from several_slots import (
    MOMENTS,
    Held,
    WithSlots,
    kill_agent,
    kill_master,
    kill_rank,
    pause,
    pause_in_place,
    preempt,
    release,
    runs_of,
)

RANKS = pathlib.Path(__file__).parents[1] / "models" / "ranks_cxx"
EXAMPLES = REPOSITORY / "examples"
RANGE = "{min: 1, max: 2, resize_after: 0}"

pytestmark = needs_det_trial


@pytest.fixture
def with_slots(tmp_path, compiled):
    clusters = []

    def starter(slots, agents=1, waiting=False):
        cluster = WithSlots(tmp_path / f"slots{len(clusters)}", slots, agents, waiting)
        clusters.append(cluster)
        for number in range(agents):
            compiled.lend_to(cluster.directory_of(number))
        return cluster.start()

    yield starter
    for cluster in clusters:
        cluster.end()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, compiled):
    """What a run leaves behind that nothing disturbed, by number of ranks."""
    directory = tmp_path_factory.mktemp("undisturbed")
    cluster = WithSlots(directory / "cluster", slots=3)
    compiled.lend_to(cluster.directory_of(0))
    try:
        cluster.start()
        held = {size: Held(cluster, directory / f"signals-{size}", size, "nowhere", RANKS) for size in (1, 2)}
        return {size: one.outcome(seconds=400) for size, one in held.items()}
    finally:
        cluster.end()


@pytest.mark.parametrize("act", [pause, preempt, kill_rank, kill_agent, kill_master])
def test_whatever_disturbs_one_or_two_ranks_in_c_plus_plus_at_any_moment_changes_nothing(
    with_slots, undisturbed, tmp_path, act
):
    cluster = with_slots(12)
    held = [Held(cluster, tmp_path / f"{size} {m}", size, m, RANKS) for size in (1, 2) for m in MOMENTS]
    for one in held:
        one.wait()
    act(cluster, held)
    for one in held:
        assert one.outcome() == undisturbed[one.size], f"{one.size} rank(s), {act.__name__} at {one.moment}"
        trial = cluster.get(f"trials/{cluster.trial_of(one.id)['id']}")["trial"]
        assert trial["restarts"] == (1 if act is kill_rank else 0)


def test_a_trial_in_c_plus_plus_goes_on_on_the_slots_that_others_leave(with_slots, tmp_path):
    cluster = with_slots(2)
    one = Held(cluster, tmp_path / "one", 2, "mid-epoch", RANKS, [f"resources.slots_per_trial={RANGE}"])
    one.wait()
    other = Held(cluster, tmp_path / "other", 1, "mid-epoch", RANKS)
    wait_until(lambda: "gives its 2 slots back" in cluster.log_text(one.id), "it to give way")
    release([one])
    wait_until(lambda: "resumes on 1" in cluster.log_text(one.id), "it to go on")
    other.wait()
    cluster.run("experiment", "kill", other.id)
    assert one.outcome()["training"]
    assert cluster.trial_of(one.id)["restarts"] == 0


def test_paused_ranks_in_c_plus_plus_go_on_in_their_processes(with_slots, undisturbed, tmp_path):
    cluster = with_slots(3, waiting=True)
    held = [Held(cluster, tmp_path / f"{size}", size, "mid-epoch", RANKS) for size in (1, 2)]
    for one in held:
        one.wait()
    pause_in_place(cluster, held)
    for one in held:
        assert one.outcome() == undisturbed[one.size]
        assert len(runs_of(cluster, one.id)) == 1


def test_the_ranks_of_two_agents_train_one_model_in_c_plus_plus_also_where_one_of_them_is_lost(
    with_slots, undisturbed, tmp_path
):
    cluster = with_slots(1, agents=2)
    one = Held(cluster, tmp_path / "signals", 2, "mid-epoch", RANKS)
    one.wait()
    kill_process(cluster.shims_in(cluster.directory / "agent-1")[0]["taskPid"])
    one.go()
    assert one.outcome() == undisturbed[2]


def search(name, batches, **settings):
    """Options for a search with equal hyperparameters, seeds and workloads (which the model counts), trial by trial."""
    chosen = {"name": name, "max_trials": 4, "max_length.batches": batches, **settings}
    options = {f"searcher.{key}": value for key, value in chosen.items()}
    options |= {"scheduling_unit": 2, "min_validation_period.batches": 100, "min_checkpoint_period.batches": 100}
    return [f"{key}={value}" for key, value in options.items()]


@pytest.mark.parametrize(("batches", "act"), [(28, None), (24, kill_rank), (24, pause), (28, kill_master)])
def test_trials_in_c_plus_plus_that_wait_for_a_promotion_go_on_as_if_they_had_not(with_slots, tmp_path, batches, act):
    """The first rung ends at batch 14, an epoch's last, or 12; on one slot and on two, and disturbed as it is saved."""
    cluster = with_slots(4)
    halving = dict(num_rungs=2, divisor=2, max_concurrent_trials=2)
    halves = {}
    for size in (1, 2):
        options = search("async_halving", batches, **halving)
        halves[size] = Held(
            cluster, tmp_path / f"halves {size}", size, "checkpoint" if act else "nowhere", RANKS, options
        )
    if act:
        for one in halves.values():
            one.wait()
        act(cluster, list(halves.values()))
    whole = {
        size: Held(cluster, tmp_path / f"whole {size}", size, "nowhere", RANKS, search("random", batches))
        for size in (1, 2)
    }
    for size in (1, 2):
        trials, undisturbed = (trials_of(cluster, held[size].id) for held in (halves, whole))
        lengths = [t["totalBatchesProcessed"] for t in trials]
        assert set(lengths) == {batches // 2, batches}, lengths
        for one, other in zip(trials, undisturbed, strict=True):
            if one["totalBatchesProcessed"] == batches:
                assert end_of(cluster, one["id"]) == end_of(cluster, other["id"]), f"{size} rank(s)"


def end_of(cluster, trial):
    checkpoints = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    newest = max(checkpoints, key=lambda c: c["metadata"]["steps_completed"])["uuid"]
    return cluster.metrics(trial, "validation")[-1], weights_hash(cluster.directory / "checkpoints" / newest)


def trials_of(cluster, experiment):
    cluster.wait_for_state(experiment, "COMPLETED", seconds=400)
    return sorted(cluster.get(f"experiments/{experiment}/trials")["trials"], key=lambda t: t["id"])


def test_an_error_of_rank_1_in_c_plus_plus_is_what_the_user_sees(with_slots):
    cluster = with_slots(2)
    id = cluster.create(RANKS, *("--config", "hyperparameters.fails_on_rank=1"), *("--config", "max_restarts=0"))
    cluster.wait_for_state(id, "ERROR", seconds=400)
    shown = cluster.run("trial", "logs", cluster.trial_of(id)["id"])
    of_ranks = [line for line in shown.splitlines() if "[rank=" in line and "determined:" not in line]
    assert "[rank=1]" in of_ranks[0] and of_ranks[0].endswith("rank 1 of 2 failed:"), shown[-2000:]
    assert "range_error: so it goes" in shown
    chief = [line for line in of_ranks if "[rank=0]" in line]
    # The master may have ended it before it could say a word.
    told = [c.partition("|| INFO: ")[2] for c in chief]
    pattern = r"rank 0 ends because rank 1 failed: while training batch \d+: std::range_error: so it goes"
    assert not told or (len(told) == 1 and re.fullmatch(pattern, told[0])), told


def test_two_slots_have_the_same_numbers_in_both_languages(with_slots):
    cluster = with_slots(2)
    short = [
        *("--config", "searcher.max_length.batches=12"),
        *("--config", "scheduling_unit=4"),
        *("--config", "resources.slots_per_trial=2"),
        *("--config", "optimizations.average_training_metrics=true"),  # false by default where steps are counted
        *("--config", "reproducibility.experiment_seed=11"),
        *("--config", "environment.environment_variables=[OMP_NUM_THREADS=1]"),
        *few_images(),
    ]
    both = [
        cluster.create(EXAMPLES / "mnist_pytorch_cpp", *short),
        cluster.create(EXAMPLES / "mnist_pytorch", "--config", "searcher.max_steps=3", *short[2:]),
    ]
    for id in both:
        cluster.wait_for_state(id, "COMPLETED", seconds=400)
    for group in ("training", "validation"):
        ours, theirs = (cluster.metrics(cluster.trial_of(id)["id"], group) for id in both)
        assert ours
        assert ours == theirs, group
