"""Trials of several processes: real ranks, real collectives, killed, paused and broken for real."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from small_master import SmallMaster
from warm_worker import Ended, WarmWorker

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)

from test_exec import environment

MODEL = pathlib.Path(__file__).parents[1].joinpath("rank_trials.py").read_text()
CONFIG: dict[str, Any] = {
    "entrypoint": "model_def:RankTrial",
    "scheduling_unit": 4,
    "min_validation_period": {"batches": 8},
    "min_checkpoint_period": {"batches": 5},
}


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "model_def.py").write_text(MODEL)
    return tmp_path


class Trial:
    """One run of a trial on several ranks, and what its master was told."""

    def __init__(self, worker: WarmWorker, place: pathlib.Path, lengths: list[int]) -> None:
        self.worker = worker
        self.place = place
        self.lengths = lengths
        self.runs = 0

    def values(self, master: SmallMaster, size: int, **changes: Any) -> list[dict[str, str]]:
        config = {**CONFIG, **changes.pop("config", {})}
        hparams = {"global_batch_size": 12, **changes.pop("hparams", {})}
        return [
            environment(
                master,
                self.place,
                config=config,
                hparams=hparams,
                DET_RANK=rank,
                DET_LOCAL_RANK=rank,
                DET_SIZE=size,
                DET_LOCAL_SIZE=size,
                **changes,
            )
            for rank in range(size)
        ]

    def run(self, size: int, master: SmallMaster | None = None, **changes: Any) -> tuple[SmallMaster, list[Ended]]:
        served = master or SmallMaster(self.lengths)
        self.runs += 1
        try:
            values = self.values(served, size, **changes)
            return served, self.worker.run_ranks(values, self.place / f"run-{self.runs}")
        finally:
            served.close()

    def finish(self, size: int, **changes: Any) -> SmallMaster:
        master, ended = self.run(size, **changes)
        assert [one.returncode for one in ended] == [0] * size, "\n".join(one.stderr for one in ended)
        return master

    def state(self, master: SmallMaster) -> dict[str, Any]:
        saved = self.place / "storage" / master.checkpoints()[-1]["uuid"] / "state-dict.pth"
        return dict(torch.load(saved, weights_only=False))


@pytest.fixture
def trial(worker: WarmWorker, place: pathlib.Path) -> Callable[[list[int]], Trial]:
    return lambda lengths: Trial(worker, place, lengths)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def test_two_ranks_have_the_same_weights_and_those_of_one_process_up_to_rounding(trial: Any) -> None:
    two = trial([16])
    of_two = two.finish(2)
    of_one = two.finish(1)
    assert of_two.numbers()["validation", 16]["avgMetrics"]["ranks_agree"] == 1.0
    left, right = two.state(of_two), two.state(of_one)
    for name, value in left["models_state_dict"][0].items():
        torch.testing.assert_close(value, right["models_state_dict"][0][name], rtol=1e-4, atol=1e-6)
    for key, metrics in of_one.numbers().items():
        name = "loss" if key[0] == "training" else "val_loss"
        assert of_two.numbers()[key]["avgMetrics"][name] == pytest.approx(metrics["avgMetrics"][name], rel=1e-4), key


def test_how_gradients_are_packed_changes_nothing_between_two_ranks(trial: Any) -> None:
    one = trial([9])
    of_all, of_small, of_none = (one.finish(2, hparams={"noisy": True, "bucket_bytes": n}) for n in (1 << 20, 40, 1))
    assert of_all.numbers() == of_small.numbers() == of_none.numbers()


def test_only_the_chief_reports_and_every_batch_goes_to_one_rank(trial: Any, place: pathlib.Path) -> None:
    master, ended = trial([7]).run(2)
    assert [one.returncode for one in ended] == [0, 0]
    seen = [re.findall(r"batch (\d+) first (\S+)", one.stdout) for one in ended]
    assert [[int(batch) for batch, _ in rows] for rows in seen] == [list(range(7))] * 2
    assert not {first for _, first in seen[0]} & {first for _, first in seen[1]}
    assert [len([b for b in bodies if b]) for bodies in (master.calls("/completed_operation"),)] == [1]
    assert "rank 1 sees 2 ranks on 1 machine(s)" in ended[1].stdout
    assert "finished after batch 7" in ended[0].stderr
    assert "finished" not in ended[1].stderr


@pytest.mark.parametrize(
    ("size", "hparams", "optimizations"),
    [
        pytest.param(2, {"noisy": True}, {}, id="noisy"),
        pytest.param(2, {"noisy": True}, {"aggregation_frequency": 3}, id="aggregation"),
        pytest.param(3, {"noisy": True, "wide": 700}, {}, id="three ranks"),
        pytest.param(3, {"noisy": True, "bucket_bytes": 40}, {"aggregation_frequency": 2}, id="many buckets"),
        pytest.param(2, {"kind": "classic"}, {"aggregation_frequency": 2}, id="classic"),
    ],
)
def test_a_paused_trial_goes_on_with_the_same_numbers(trial: Any, size: int, hparams: Any, optimizations: Any) -> None:
    one = trial([14])
    kind = {"config": {"optimizations": optimizations, "entrypoint": "model_def:RankTrial"}, "hparams": hparams}
    if hparams.get("kind") == "classic":
        kind["config"]["entrypoint"] = "model_def:ClassicRankTrial"
        kind["hparams"] = {}
    whole = one.finish(size, **json.loads(json.dumps(kind)))
    first = SmallMaster([14])
    first.preempt_after = 4
    one.run(size, first, **json.loads(json.dumps(kind)))
    assert first.calls("/ack_preemption")
    stopped = first.checkpoints()[-1]
    assert 0 < stopped["metadata"]["steps_completed"] < 14
    second = one.finish(size, DET_LATEST_CHECKPOINT=stopped["uuid"], **json.loads(json.dumps(kind)))
    assert {**first.numbers(), **second.numbers()} == whole.numbers()
    assert same(one.state(second), one.state(whole))


@pytest.mark.parametrize("sizes", [(2, 1), (1, 3), (3, 2)])
@pytest.mark.parametrize("aggregation", [1, 3])
def test_a_trial_that_resumes_on_another_number_of_slots_trains_as_if_nothing_had_happened(
    trial: Any, sizes: tuple[int, int], aggregation: int
) -> None:
    """Up to rounding: another number of slots adds up the same numbers in another order."""
    one = trial([14])
    config = {"optimizations": {"aggregation_frequency": aggregation}}
    whole = one.finish(1, config=dict(config))
    first = SmallMaster([14])
    first.preempt_after = 4
    one.run(sizes[0], first, config=dict(config))
    stopped = first.checkpoints()[-1]
    assert stopped["metadata"]["steps_completed"] in (4, 5, 8, 10)  # gradients of a batch or two are not applied yet
    master, ended = one.run(sizes[1], DET_LATEST_CHECKPOINT=stopped["uuid"], config=dict(config))
    assert [each.returncode for each in ended] == [0] * sizes[1], "\n".join(each.stderr for each in ended)
    assert f"saved on {sizes[0]} slots, and the trial resumes on {sizes[1]}" in ended[0].stderr
    left, right = one.state(master), one.state(whole)
    for name, value in left["models_state_dict"][0].items():
        torch.testing.assert_close(value, right["models_state_dict"][0][name], rtol=1e-4, atol=1e-6)
    found = {**first.numbers(), **master.numbers()}
    for key, metrics in whole.numbers().items():
        name = "loss" if key[0] == "training" else "val_loss"
        assert found[key]["avgMetrics"][name] == pytest.approx(metrics["avgMetrics"][name], rel=1e-4), key


def test_an_error_of_one_rank_is_told_once_and_ends_the_others(trial: Any) -> None:
    began = time.monotonic()
    master, (chief, other) = trial([500]).run(2, hparams={"fail_rank": 1})
    assert master.trained() == 5, "what was trained before is reported"
    assert time.monotonic() - began < 20
    assert (chief.returncode, other.returncode) == (81, 1)
    assert "rank 1 of 2 failed:\n" in other.stderr
    assert "ArithmeticError: so it goes on rank 1" in other.stderr
    lines = [line for line in chief.stderr.splitlines() if "rank" in line]
    assert lines == ["rank 0 ends because rank 1 failed: ArithmeticError: so it goes on rank 1"]
    assert "Traceback" not in chief.stderr


def test_an_error_of_all_ranks_is_told_at_length_by_one(trial: Any) -> None:
    _, ended = trial([500]).run(2, hparams={"fail_rank": -1})
    assert sorted(one.returncode for one in ended) == [1, 81]
    assert sum("Traceback" in one.stderr for one in ended) == 1


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_takes_the_others_with_it_at_once(trial: Any, victim: int, place: pathlib.Path) -> None:
    began = time.monotonic()
    _, ended = trial([500]).run(2, hparams={"kill_rank": victim})
    assert time.monotonic() - began < 20
    survivor = ended[1 - victim]
    assert ended[victim].returncode == 128 + signal.SIGKILL
    assert survivor.returncode == 81
    assert "Traceback" not in survivor.stderr
    assert len([line for line in survivor.stderr.splitlines() if "ends because" in line]) == 1


def test_impossible_hyperparameters_end_all_ranks_without_a_failure(trial: Any) -> None:
    master, ended = trial([500]).run(2, hparams={"impossible": True})
    assert [one.returncode for one in ended] == [0, 0], [one.stderr for one in ended]
    assert {body["reason"] for body in master.calls("/early_exit")} == {"EXITED_REASON_INIT_INVALID_HP"}


def test_a_hang_shows_the_stacks_of_all_ranks_and_ends_them(trial: Any) -> None:
    _, (chief, other) = trial([500]).run(2, hparams={"hang_rank": 1}, DET_COLLECTIVE_TIMEOUT="2")
    assert (chief.returncode, other.returncode) == (82, 81)
    assert re.search(r"rank 0 has waited \d+ s for the other ranks, in the exchange of gradients", chief.stderr)
    assert "longer than DET_COLLECTIVE_TIMEOUT (2 s)" in chief.stderr
    assert "this one is training the batches 5 to 7, and waits for no other" in other.stderr
    assert "in sleep_for_ever" in other.stderr
    assert "frame #" not in chief.stderr + other.stderr


def test_ranks_that_do_not_come_are_named(trial: Any, place: pathlib.Path) -> None:
    one = trial([5])
    master = SmallMaster([5])
    values = one.values(master, 3, DET_RENDEZVOUS_TIMEOUT="1.5")
    ended = one.worker.run_ranks(values[:2], place / "lonely")
    assert [e.returncode for e in ended] == [1, 81]
    assert "rank 2 of 3 did not connect within 1.5 s" in ended[0].stderr
    alone = one.worker.run(values[1], place / "alone")  # to the master the chief is still where it was
    master.close()
    assert alone.returncode == 1
    assert "rank 1 cannot reach rank 0 (127.0.0.1:" in alone.stderr


def test_a_trial_preempted_before_all_ranks_came_ends_without_a_failure(trial: Any, place: pathlib.Path) -> None:
    one = trial([5])
    master = SmallMaster([5])
    master.preempt_after = 0
    ended = one.worker.run_ranks(one.values(master, 3)[:2], place / "early")
    master.close()
    assert [e.returncode for e in ended] == [0, 0], [e.stderr for e in ended]


def test_metrics_are_reduced_over_ranks_as_documented(trial: Any) -> None:
    one = trial([8])
    numbers = one.finish(2, hparams={"uneven": True}).numbers()
    validation = numbers["validation", 8]["avgMetrics"]
    # Five batches 0 … 4: rank 0 has 0, 2 and 4, rank 1 has 1 and 3.
    assert {name: validation[name] for name in ("avg", "sum", "max", "min", "all")} == {
        "avg": 2.0,
        "sum": 10.0,
        "max": 4.0,
        "min": 0.0,
        "all": "0,1,2,3,4",
    }
    assert numbers["training", 4]["avgMetrics"]["mine"] == 0.5
    records = {key: int(metrics["numInputs"]) for key, metrics in numbers.items()}
    assert records == {("training", 4): 48, ("training", 5): 12, ("training", 8): 36, ("validation", 8): 9}
    chief = one.finish(2, config={"optimizations": {"average_training_metrics": False}}).numbers()
    assert chief["training", 4]["avgMetrics"]["mine"] == 0.0


def test_the_whole_validation_set_is_evaluated_by_the_chief_alone(trial: Any) -> None:
    one = trial([4])
    master, ended = one.run(2, config={"entrypoint": "model_def:WholeSetTrial"})
    assert [e.returncode for e in ended] == [0, 0], [e.stderr for e in ended]
    assert master.numbers()["validation", 4]["avgMetrics"] == {"val_loss": 1.0, "batches": 5}
    assert int(master.numbers()["validation", 4]["numInputs"]) == 10
    assert ["evaluates" in e.stdout for e in ended] == [True, False]
    assert all("validation ended with batches=5" in e.stdout for e in ended)


@pytest.mark.parametrize("bucket_bytes", [25 << 20, 40])
def test_gradients_are_exchanged_whatever_the_trial_does_with_its_models(trial: Any, bucket_bytes: int) -> None:
    master = trial([6]).finish(2, config={"entrypoint": "model_def:OddTrial"}, hparams={"bucket_bytes": bucket_bytes})
    assert master.numbers()["validation", 6]["avgMetrics"]["ranks_agree"] == 1.0


def test_an_optimizer_that_takes_a_closure_decides_by_the_loss_and_gradients_of_all_ranks(trial: Any) -> None:
    master = trial([6]).finish(2, config={"entrypoint": "model_def:ClosureTrial"})
    assert master.numbers()["validation", 6]["avgMetrics"]["ranks_agree"] == 1.0


def test_ranks_whose_epochs_differ_by_a_batch_change_the_learning_rate_together(trial: Any) -> None:
    master = trial([5]).finish(2, config={"entrypoint": "model_def:EpochTrial"})
    assert master.numbers()["validation", 5]["avgMetrics"]["ranks_agree"] == 1.0


def test_two_ranks_train_the_bits_of_distributed_data_parallel(trial: Any) -> None:
    trial([9]).finish(2, config={"entrypoint": "model_def:TwinTrial"})


def test_whoever_scales_by_hand_sees_the_gradients_of_all_ranks(trial: Any) -> None:
    master = trial([6]).finish(2, config={"entrypoint": "model_def:ScalerTrial"})
    assert master.numbers()["validation", 6]["avgMetrics"]["ranks_agree"] == 1.0


def test_callbacks_are_called_on_all_ranks_save_those_that_write(trial: Any) -> None:
    _, ended = trial([9]).run(2, config={"entrypoint": "model_def:HookTrial"})
    assert [e.returncode for e in ended] == [0, 0], [e.stderr for e in ended]
    chief, other = (re.findall("hook (.*)", e.stdout) for e in ended)
    writing = {"on_checkpoint_save_start", "on_checkpoint_end", "on_checkpoint_write_end"}
    assert writing < set(chief)
    assert [hook for hook in chief if hook not in writing] == other
    assert {"on_checkpoint_upload_end", "on_validation_end", "on_training_workload_end", "on_trial_shutdown"} < set(
        other
    )


def test_models_that_differ_between_ranks_are_refused(trial: Any) -> None:
    _, ended = trial([4]).run(2, hparams={"differ": True})
    assert 1 in [e.returncode for e in ended]
    assert any("models on rank 1 that differ from those of rank 0" in e.stderr for e in ended)


def test_a_rank_asks_to_stop_and_all_stop(trial: Any) -> None:
    master = trial([500]).finish(2, hparams={"stop_rank": 1})
    assert [body["reason"] for body in master.calls("/early_exit")] == ["EXITED_REASON_USER_REQUESTED_STOP"]
    assert master.trained() == 8


def test_ranks_of_two_machines_know_which_is_theirs(trial: Any, place: pathlib.Path) -> None:
    one = trial([2])
    master = SmallMaster([2])
    values = one.values(master, 3)
    for rank, (local, size, machine) in enumerate([(0, 1, 0), (0, 2, 1), (1, 2, 1)]):
        values[rank] |= {"DET_LOCAL_RANK": str(local), "DET_LOCAL_SIZE": str(size), "DET_CROSS_RANK": str(machine)}
    ended = one.worker.run_ranks(values, place / "machines")
    master.close()
    assert [e.returncode for e in ended] == [0, 0, 0], [e.stderr for e in ended]
    assert "rank 2 sees 3 ranks on 2 machine(s)" in ended[2].stdout
    said = [re.findall("on its machine (.*)", e.stdout)[0] for e in ended]
    assert said == ["[0] [0] 0", "[1, 2] [1, 2] 1", "[1, 2] None 1"]


def test_threads_of_a_rank_are_those_that_the_agent_gives(trial: Any) -> None:
    _, ended = trial([1]).run(2, OMP_NUM_THREADS="1")
    assert all("threads 1\n" in e.stdout for e in ended)
    assert os.cpu_count()
