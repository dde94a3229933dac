"""Whatever ends a trial, and whenever: the numbers are those of an undisturbed run, to the last bit."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from harness import Run
from trials import (
    ClassicTrial,
    EverythingTrial,
    EverythingWithWorkersTrial,
    GeneratorLoaderTrial,
    PlainLoaderTrial,
    PlainLoaderWithWorkersTrial,
    RepeatedLoaderTrial,
    StreamTrial,
)

from determined._trial import Trial
from determined.common.check import CheckFailedError
from determined.pytorch import load_trial_from_checkpoint_path

CONFIG: dict[str, Any] = {
    "scheduling_unit": 4,
    "min_validation_period": {"batches": 5},
    "min_checkpoint_period": {"batches": 7},
    "perform_initial_validation": True,
}
LENGTHS = [9, 19]
KINDS = [
    pytest.param(EverythingTrial, {}, id="everything"),
    pytest.param(EverythingTrial, {"optimizations": {"aggregation_frequency": 3}}, id="aggregation"),
    pytest.param(ClassicTrial, {"optimizations": {"aggregation_frequency": 2}}, id="classic"),
]


def run(kind: type[Trial], storage: pathlib.Path, config: dict[str, Any], **options: Any) -> Run:
    return Run(kind, storage, lengths=LENGTHS, config={**CONFIG, **config}, **options).start()


def count_actions(kind: type[Trial], storage: pathlib.Path, config: dict[str, Any]) -> tuple[int, Run]:
    undisturbed = run(kind, storage, config)
    actions = 0
    while undisturbed.loop.step():
        actions += 1
    return actions, undisturbed


def check_equal(interrupted: list[Run], undisturbed: Run) -> None:
    known: dict[tuple[str, int], Any] = {}
    for part in interrupted:
        for key, value in part.numbers().items():
            assert known.setdefault(key, value) == value, f"{key} was reported again with other numbers"
    assert known == undisturbed.numbers()
    assert interrupted[-1].weights() == undisturbed.weights()


@pytest.mark.parametrize(("kind", "config"), KINDS)
def test_a_trial_killed_after_any_action_goes_on_with_the_same_numbers(
    kind: type[Trial], config: dict[str, Any], tmp_path: pathlib.Path
) -> None:
    actions, undisturbed = count_actions(kind, tmp_path, config)
    for action in range(actions + 1):
        first = run(kind, tmp_path, config).steps(action)
        second = run(kind, tmp_path, config, checkpoint=first.drop()).finish()
        check_equal([first, second], undisturbed)


@pytest.mark.parametrize("unit", [1, 4])
@pytest.mark.parametrize(("kind", "config"), KINDS)
def test_a_trial_paused_after_any_batch_goes_on_with_the_same_numbers(
    kind: type[Trial], config: dict[str, Any], unit: int, tmp_path: pathlib.Path
) -> None:
    config = {**config, "scheduling_unit": unit}
    undisturbed = run(kind, tmp_path, config).finish()
    # With longer units several batches in a row end at the same place.
    for batch in range(1, LENGTHS[-1] + 1, 1 if unit == 1 else 3):
        first = run(kind, tmp_path, config, preempt_after=batch).finish()
        assert first.client.acknowledged
        second = run(kind, tmp_path, config, checkpoint=first.drop()).finish()
        check_equal([first, second], undisturbed)


def test_a_trial_killed_again_and_again_goes_on_with_the_same_numbers(tmp_path: pathlib.Path) -> None:
    _, undisturbed = count_actions(EverythingTrial, tmp_path, {"min_checkpoint_period": {"batches": 1}})
    parts: list[Run] = []
    checkpoint = None
    while len(parts) < 100 and (not parts or ("operation", LENGTHS[-1]) not in parts[-1].numbers()):
        config = {"min_checkpoint_period": {"batches": 1}}
        parts.append(run(EverythingTrial, tmp_path, config, checkpoint=checkpoint).steps(4 + len(parts) % 3))
        checkpoint = parts[-1].drop()
    check_equal(parts, undisturbed)


def test_worker_processes_give_the_same_augmentations_after_a_jump(tmp_path: pathlib.Path) -> None:
    _, undisturbed = count_actions(EverythingWithWorkersTrial, tmp_path, {})
    for batch in (5, 12):
        first = run(EverythingWithWorkersTrial, tmp_path, {}, preempt_after=batch).finish()
        second = run(EverythingWithWorkersTrial, tmp_path, {}, checkpoint=first.drop()).finish()
        check_equal([first, second], undisturbed)


class Scaled(EverythingTrial):
    """With a parameter that is in an optimizer and in no model."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.scale_optimizer = context.wrap_optimizer(torch.optim.SGD([self.scale], lr=0.1, momentum=0.9))

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        loss = torch.nn.functional.cross_entropy(self.head(self.model(batch[0])) * self.scale, batch[1])
        self.context.backward(loss)
        for optimizer in self.context.optimizers:
            self.context.step_optimizer(optimizer)
        return {"loss": loss, "scale": self.scale}


def test_parameters_of_no_wrapped_model_go_on_as_well(tmp_path: pathlib.Path) -> None:
    _, undisturbed = count_actions(Scaled, tmp_path, {})
    first = run(Scaled, tmp_path, {}, preempt_after=5).finish()
    second = run(Scaled, tmp_path, {}, checkpoint=first.drop()).finish()
    check_equal([first, second], undisturbed)
    assert torch.equal(second.trial.scale, undisturbed.trial.scale)
    loaded = load_trial_from_checkpoint_path(str(tmp_path / str(second.newest_checkpoint())), Scaled)
    assert torch.equal(loaded.scale, second.trial.scale)  # type: ignore[attr-defined]


def test_checkpoints_that_lack_such_parameters_are_read_and_those_with_others_refused(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(Scaled, tmp_path, {}, preempt_after=5).finish()
    file = tmp_path / str(first.newest_checkpoint()) / "state-dict.pth"
    state = torch.load(file, weights_only=False)
    (scale,) = state.pop("other_parameters")
    torch.save(state, file)
    assert torch.equal(run(Scaled, tmp_path, {}, checkpoint=first.newest_checkpoint()).trial.scale, torch.ones(2))
    assert "has no values of the 1 parameters of optimizers that are in no wrapped model" in caplog.text
    torch.save({**state, "other_parameters": [scale, torch.ones(3)]}, file)
    with pytest.raises(CheckFailedError, match=r"of the shapes \[\(2,\), \(3,\)\] .*expected \[\(2,\)\]"):
        run(Scaled, tmp_path, {}, checkpoint=first.newest_checkpoint())


LOADERS = [PlainLoaderTrial, RepeatedLoaderTrial, StreamTrial, GeneratorLoaderTrial]


@pytest.mark.parametrize("kind", LOADERS)
def test_with_a_loader_of_its_own_a_trial_goes_on_with_the_same_numbers(
    kind: type[Trial], tmp_path: pathlib.Path
) -> None:
    _, undisturbed = count_actions(kind, tmp_path, {})
    for batch in (5, 7, 10, 14):  # in the middle of a pass and at its end
        first = run(kind, tmp_path, {}, preempt_after=batch).finish()
        second = run(kind, tmp_path, {}, checkpoint=first.drop()).finish()
        check_equal([first, second], undisturbed)


def test_worker_processes_of_a_loader_of_its_own_leave_the_generators_alone(tmp_path: pathlib.Path) -> None:
    _, undisturbed = count_actions(PlainLoaderWithWorkersTrial, tmp_path, {})
    for batch in (5, 7):
        first = run(PlainLoaderWithWorkersTrial, tmp_path, {}, preempt_after=batch).finish()
        second = run(PlainLoaderWithWorkersTrial, tmp_path, {}, checkpoint=first.drop()).finish()
        check_equal([first, second], undisturbed)


def test_validations_change_nothing_but_what_callbacks_make_of_them(tmp_path: pathlib.Path) -> None:
    often = run(ClassicTrial, tmp_path, {"min_validation_period": {"batches": 1}}).finish()
    never = run(ClassicTrial, tmp_path, {"min_validation_period": None}).finish()
    assert often.weights() == never.weights()


def test_a_warm_start_takes_the_weights_and_nothing_else(tmp_path: pathlib.Path) -> None:
    source = run(EverythingTrial, tmp_path, {}).finish()
    started = Run(
        EverythingTrial, tmp_path, lengths=[4], checkpoint=source.newest_checkpoint(), warm_start=True, seed=8
    ).start()
    assert started.weights() == source.weights()
    assert started.loop.state.batches_trained == 0
    assert started.trial.optimizer.state == {}
    assert started.trial.optimizer.param_groups[0]["lr"] == 0.1
