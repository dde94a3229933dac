"""When learning rate schedulers step."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch
from harness import Run, train
from trials import ClassicTrial, ContextTrial

from determined.common.check import CheckFailedError
from determined.errors import InvalidExperimentException
from determined.pytorch import LRScheduler, LRSchedulerStepMode
from determined.pytorch._lr_scheduler import steps_due

Mode = LRScheduler.StepMode
EPOCH, BATCH, STEP, MANUAL = (
    Mode.STEP_EVERY_EPOCH,
    Mode.STEP_EVERY_BATCH,
    Mode.STEP_EVERY_OPTIMIZER_STEP,
    Mode.MANUAL_STEP,
)


def by_the_documented_rule(mode: Any, frequency: int, batch: int, k: int, length: int) -> int:
    if mode is BATCH:
        return sum((i + 1) % frequency == 0 for i in range(batch - k + 1, batch + 1))
    if mode is STEP:
        return int((batch + 1) % frequency == 0)
    if mode is EPOCH:
        done = [e for e in range(1000) if (e + 1) * length <= batch + k and (e + 1) * length > batch]
        return sum((e + 1) % frequency == 0 for e in done)
    return 0


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("aggregation", [1, 4])
@pytest.mark.parametrize("frequency", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_steps_follow_the_documented_rule(mode: Any, aggregation: int, frequency: int, length: int) -> None:
    for batch in range(aggregation - 1, 60, aggregation):
        expected = by_the_documented_rule(mode, frequency, batch, aggregation, length)
        assert steps_due(mode, frequency, batch, aggregation, length) == expected


@pytest.mark.parametrize("aggregation", [1, 4])
def test_every_batch_and_every_epoch_counts_once(aggregation: int) -> None:
    updates = range(aggregation - 1, 56, aggregation)
    assert sum(steps_due(BATCH, 1, batch, aggregation, 7) for batch in updates) == 56
    assert sum(steps_due(EPOCH, 1, batch, aggregation, 7) for batch in updates) == 8


def rates(mode: Any, storage: pathlib.Path, **config: Any) -> list[float]:
    class Traced(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.5)
            wrapped = context.wrap_lr_scheduler(self.scheduler, step_mode=mode)
            assert wrapped is self.scheduler

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            metrics = super().train_batch(batch, epoch_idx, batch_idx)
            return {**metrics, "lr": self.optimizer.param_groups[0]["lr"]}

    run = train(Traced, storage, 15, config=config)
    return [row["lr"] for _, _, value in _training(run) for row in value["batch_metrics"]]


def _training(run: Run) -> list[Any]:
    return [report for report in run.client.reports if report[0] == "training"]


def test_a_trial_sees_the_rate_of_its_epoch(tmp_path: pathlib.Path) -> None:
    assert rates(EPOCH, tmp_path) == [0.1] * 7 + [0.05] * 7 + [0.025]


def test_a_trial_sees_the_rate_of_its_batch(tmp_path: pathlib.Path) -> None:
    assert rates(BATCH, tmp_path) == pytest.approx([0.1 / 2**batch for batch in range(15)])


def test_with_aggregation_the_rate_changes_at_updates_only(tmp_path: pathlib.Path) -> None:
    config = {"optimizations": {"aggregation_frequency": 4}}
    assert rates(BATCH, tmp_path, **config) == pytest.approx([0.1 / 16 ** (batch // 4) for batch in range(15)])


def test_a_scheduler_in_manual_mode_is_left_alone(tmp_path: pathlib.Path) -> None:
    assert rates(MANUAL, tmp_path) == [0.1] * 15


def test_the_classic_generation_returns_a_wrapper(tmp_path: pathlib.Path) -> None:
    class Classic(ClassicTrial):
        def create_lr_scheduler(self, optimizer: Any) -> LRScheduler:
            self.wrapper = LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5), EPOCH)
            return self.wrapper

    run = train(Classic, tmp_path, 8)
    assert run.context.get_lr_scheduler() is run.trial.wrapper  # type: ignore[attr-defined]
    assert run.trial.wrapper.get_last_lr() == [0.05]
    assert run.trial.wrapper.get_lr() == [0.05 / 2] or run.trial.wrapper.get_lr() == [0.05]


def test_asking_for_the_rate_neither_warns_nor_makes_other_warnings_come_again() -> None:
    script = """
import warnings, torch
from determined.pytorch import LRScheduler
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
wrapper = LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1), LRScheduler.StepMode.MANUAL_STEP)
for _ in range(3):
    warnings.warn("something else")
    wrapper.get_lr()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.count("UserWarning") == done.stderr.count("UserWarning: something else") == 1


def test_an_object_that_is_not_a_scheduler_is_refused() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.raises(CheckFailedError, match="None"):
        LRScheduler(None, BATCH)
    for wrong, name in ((optimizer, "a SGD"), (7, "a int")):
        with pytest.raises(CheckFailedError, match=f"Got {name}, expected a scheduler of torch.optim.lr_scheduler"):
            LRScheduler(wrong, BATCH)
    with pytest.raises(CheckFailedError, match="StepMode"):
        LRScheduler(scheduler, "every batch")  # type: ignore[arg-type]
    with pytest.raises(CheckFailedError, match="frequency"):
        LRScheduler(scheduler, BATCH, 0)
    with pytest.raises(CheckFailedError, match="MANUAL_STEP"):
        LRScheduler(scheduler, BATCH).step()


def test_the_wrapper_steps_by_hand_in_manual_mode() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    wrapper = LRScheduler(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0), MANUAL)
    wrapper.step(1.0)
    wrapper.step(2.0)
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_plateau_scheduler_in_an_automatic_mode_is_refused(tmp_path: pathlib.Path) -> None:
    class Plateau(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.wrap_lr_scheduler(torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer), EPOCH)

    with pytest.raises(InvalidExperimentException, match="MANUAL_STEP"):
        train(Plateau, tmp_path, 1)


def test_a_scheduler_over_an_unknown_optimizer_is_refused(tmp_path: pathlib.Path) -> None:
    class Stranger(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            other = torch.optim.SGD(self.model.parameters(), lr=1)
            context.wrap_lr_scheduler(torch.optim.lr_scheduler.StepLR(other, 1), EPOCH)

    with pytest.raises(CheckFailedError, match="not wrapped"):
        train(Stranger, tmp_path, 1)


def test_the_enumeration_has_its_documented_names_and_values() -> None:
    assert LRSchedulerStepMode is LRScheduler.StepMode
    assert [Mode.STEP_EVERY_EPOCH.value, Mode.STEP_EVERY_BATCH.value, Mode.MANUAL_STEP.value] == [1, 2, 3]
