"""Callbacks: which hook when, in which order, and their state."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from harness import Run, train
from trials import ClassicTrial, ContextTrial

from determined.pytorch import PyTorchCallback

HOOKS = [name for name in vars(PyTorchCallback) if name.startswith("on_")]


def recording(log: list[str], name: str = "a", **changes: Any) -> PyTorchCallback:
    """A callback that overrides every hook and writes down its calls."""

    def hook(hook_name: str) -> Any:
        def record(self: Any, *args: Any) -> None:
            log.append(f"{name}.{hook_name.removeprefix('on_')}")

        return record

    methods = {**{h: hook(h) for h in HOOKS}, **changes}
    return type("Recording", (PyTorchCallback,), methods)()


def trial_with(callbacks: Any, kind: type = ContextTrial) -> type:
    return type("WithCallbacks", (kind,), {"build_callbacks": lambda self: callbacks})


def test_every_hook_comes_in_its_place(tmp_path: pathlib.Path) -> None:
    log: list[str] = []
    run = train(trial_with({"a": recording(log)}), tmp_path, 8, config={"scheduling_unit": 5})
    run.controller.close()
    assert log == [
        "a.trial_startup",
        "a.training_start",
        "a.train_step_start",
        "a.training_epoch_start",
        "a.train_step_end",
        "a.training_workload_end",
        "a.train_step_start",
        "a.training_epoch_end",
        "a.training_epoch_start",
        "a.train_step_end",
        "a.training_workload_end",
        "a.checkpoint_save_start",
        "a.checkpoint_end",
        "a.checkpoint_write_end",
        "a.checkpoint_upload_end",
        "a.validation_step_start",
        "a.validation_start",
        "a.validation_epoch_start",
        "a.validation_epoch_end",
        "a.validation_step_end",
        "a.validation_end",
        "a.trial_shutdown",
    ]


def test_on_a_resume_the_checkpoint_is_loaded_before_training_starts(tmp_path: pathlib.Path) -> None:
    first = train(ContextTrial, tmp_path, 4)
    log: list[str] = []
    trial = trial_with({"a": recording(log)})
    Run(trial, tmp_path, lengths=[4], checkpoint=first.newest_checkpoint()).start()
    assert log == ["a.trial_startup", "a.checkpoint_load_start", "a.training_start"]


def test_classic_trials_hear_of_every_optimizer_step(tmp_path: pathlib.Path) -> None:
    log: list[str] = []
    config = {"optimizations": {"aggregation_frequency": 2}}
    train(trial_with({"a": recording(log)}, ClassicTrial), tmp_path, 6, config=config)
    assert log.count("a.before_optimizer_step") == 3


def test_callbacks_run_in_the_order_of_the_dict(tmp_path: pathlib.Path) -> None:
    log: list[str] = []
    run = train(trial_with({"z": recording(log, "z"), "a": recording(log, "a")}), tmp_path, 1)
    assert [entry for entry in log if "validation_end" in entry] == ["z.validation_end", "a.validation_end"]
    assert run


def test_hooks_get_their_documented_arguments(tmp_path: pathlib.Path) -> None:
    seen: dict[str, Any] = {}

    class Curious(PyTorchCallback):
        def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: str | None) -> None:
            seen["startup"] = (first_batch_idx, checkpoint_uuid)

        def on_training_epoch_start(self) -> None:  # type: ignore[override]
            seen["epoch start"] = True

        def on_training_epoch_end(self, epoch_idx: int) -> None:
            seen["epoch end"] = epoch_idx

        def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
            seen["workload"] = (list(avg_metrics), len(batch_metrics))

        def on_validation_epoch_end(self, outputs: list[Any]) -> None:
            seen["outputs"] = len(outputs)

        def on_validation_end(self, metrics: dict[str, Any]) -> None:
            seen["metrics"] = list(metrics)

        def on_checkpoint_upload_end(self, uuid: str) -> None:
            seen["uuid"] = uuid

    trial = trial_with({"curious": Curious()})
    run = train(trial, tmp_path, 7)
    assert seen == {
        "startup": (0, None),
        "epoch start": True,
        "epoch end": 0,
        "workload": (["loss"], 7),
        "outputs": 3,
        "metrics": ["val_loss"],
        "uuid": run.newest_checkpoint(),
    }
    Run(trial, tmp_path, lengths=[7], checkpoint=run.newest_checkpoint()).start()
    assert seen["startup"] == (7, run.newest_checkpoint())


class Counter(PyTorchCallback):
    def __init__(self) -> None:
        self.count = 0

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        (pathlib.Path(checkpoint_dir) / "count.json").write_text(json.dumps(self.count))
        self.count += 100

    def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
        self.count += 1

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.count = state_dict["count"]


def test_state_and_added_files_are_in_the_checkpoint(tmp_path: pathlib.Path) -> None:
    run = train(trial_with({"counter": Counter()}), tmp_path, 3, config={"scheduling_unit": 1})
    uuid = run.newest_checkpoint()
    assert uuid
    resources = next(value for kind, _, value in run.client.reports if kind == "checkpoint")["resources"]
    assert resources["count.json"] == 1
    again = Counter()
    Run(trial_with({"counter": again}), tmp_path, lengths=[3], checkpoint=uuid).start()
    assert again.count == 3  # state is taken before on_checkpoint_end


def test_callbacks_may_change_a_checkpoint(tmp_path: pathlib.Path) -> None:
    class Stamp(PyTorchCallback):
        found: Any = None

        def on_checkpoint_save_start(self, checkpoint: dict[str, Any]) -> None:
            checkpoint["stamp"] = 7

        def on_checkpoint_load_start(self, checkpoint: dict[str, Any]) -> None:
            self.found = checkpoint.pop("stamp")

    run = train(trial_with({"stamp": Stamp()}), tmp_path, 1)
    again = Stamp()
    Run(trial_with({"stamp": again}), tmp_path, lengths=[1], checkpoint=run.newest_checkpoint()).start()
    assert again.found == 7


def test_a_callback_without_state_in_the_checkpoint_starts_anew(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = train(ContextTrial, tmp_path, 1)
    callbacks = {"new": Counter(), "plain": PyTorchCallback()}
    Run(trial_with(callbacks), tmp_path, lengths=[1], checkpoint=run.newest_checkpoint()).start()
    assert [message for message in caplog.messages if "no state for callback" in message] == [
        "the checkpoint has no state for callback 'new'; it starts from its initial state"
    ]


def test_only_overridden_former_hooks_are_warned_about(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    train(trial_with({"counter": Counter()}), tmp_path, 1)
    assert "newer name" not in caplog.text
    log: list[str] = []
    train(trial_with({"all": recording(log)}), tmp_path, 1)
    assert "on_validation_step_end is deprecated but still works; its newer name is on_validation_end" in caplog.text


def test_a_state_that_cannot_be_saved_is_named(tmp_path: pathlib.Path) -> None:
    class Holding(PyTorchCallback):
        def state_dict(self) -> dict[str, Any]:
            return {"hook": lambda: None}

    with pytest.raises(TypeError, match=r"state_dict\(\) of callback 'holding' can't be saved: .*lambda"):
        train(trial_with({"fine": Counter(), "holding": Holding()}), tmp_path, 1)
