"""A checkpoint is that of the moment in which it was due, however long it takes to be stored."""

from __future__ import annotations

import collections
import json
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
import torch
from harness import Run, train
from trials import ContextTrial, EverythingTrial

from determined._run._local import DirectoryStorage
from determined._run._saving import Pending, Saver
from determined._trial import Snapshot
from determined.pytorch import PyTorchCallback, _staging

CONFIG: dict[str, Any] = {"scheduling_unit": 2, "min_checkpoint_period": {"batches": 4}, "checkpoint_policy": "none"}


class SlowStorage(DirectoryStorage):
    """Stores nothing before it may."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.may_store = threading.Event()
        self.failure: Exception | None = None

    def publish(self, uuid: str, draft: str) -> dict[str, int]:
        assert self.may_store.wait(60)
        if self.failure is not None:
            raise self.failure
        return super().publish(uuid, draft)

    def draft(self, uuid: str) -> str:
        assert self.may_store.wait(60)
        return super().draft(uuid)


def slowed(kind: type[Any], place: pathlib.Path, lengths: list[int], **options: Any) -> tuple[Run, SlowStorage]:
    run = Run(kind, place, lengths=lengths, config=CONFIG, **options)
    run.storage = storage = SlowStorage(str(place))
    run.loop._saver = Saver(run.client, storage)
    return run.start(), storage


def steps_until(run: Run, batches: int) -> None:
    while run.loop.state.batches_trained < batches:
        assert run.loop.step()


def checkpoints(run: Run) -> list[int]:
    return [batches for kind, batches, _ in run.client.reports if kind == "checkpoint"]


def test_training_goes_on_and_the_checkpoint_is_that_of_its_batch(tmp_path: pathlib.Path) -> None:
    undisturbed = Run(EverythingTrial, tmp_path / "a", lengths=[20], config=CONFIG).start().finish()
    first, storage = slowed(EverythingTrial, tmp_path / "b", [20])
    steps_until(first, 8)  # four batches past the checkpoint of batch 4
    assert checkpoints(first) == []
    storage.may_store.set()
    first.loop._settle(wait=True)
    assert checkpoints(first) == [4]
    second = Run(EverythingTrial, tmp_path / "b", lengths=[20], config=CONFIG, checkpoint=first.drop()).start()
    assert second.loop.state.batches_trained == 4
    second.finish()
    assert second.weights() == undisturbed.weights()
    assert {**first.numbers(), **second.numbers()} == undisturbed.numbers()
    for key, value in second.numbers().items():
        assert first.numbers().get(key, value) == value


def test_one_checkpoint_is_on_its_way_and_the_next_waits_for_it(tmp_path: pathlib.Path) -> None:
    run, storage = slowed(ContextTrial, tmp_path, [12])
    steps_until(run, 8)
    waiting = threading.Thread(target=run.loop.step)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    storage.may_store.set()
    waiting.join(60)
    run.loop._settle(wait=True)
    assert checkpoints(run) == [4, 8]


def test_an_operation_is_complete_after_its_checkpoint_is_stored(tmp_path: pathlib.Path) -> None:
    run = Run(ContextTrial, tmp_path, lengths=[4, 8], config=CONFIG).start().finish()
    kinds = [(kind, batches) for kind, batches, _ in run.client.reports if kind in ("checkpoint", "operation")]
    assert kinds == [("checkpoint", 4), ("operation", 4), ("checkpoint", 8), ("operation", 8)]


def test_a_pause_waits_for_what_is_on_its_way(tmp_path: pathlib.Path) -> None:
    run, storage = slowed(ContextTrial, tmp_path, [100], preempt_after=6)
    steps_until(run, 6)
    storage.may_store.set()
    run.finish()
    assert run.client.acknowledged
    assert checkpoints(run) == [4, 6]
    assert run.loop.state.batches_trained == 6


def test_a_checkpoint_that_cannot_be_stored_fails_the_trial(tmp_path: pathlib.Path) -> None:
    run, storage = slowed(ContextTrial, tmp_path, [100])
    storage.failure = OSError("no space left")
    storage.may_store.set()
    with pytest.raises(OSError, match="no space left"):
        run.finish()
    assert checkpoints(run) == []


def test_a_checkpoint_that_is_on_its_way_when_the_trial_fails_is_stored(tmp_path: pathlib.Path) -> None:
    class FailingTrial(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            if batch_idx == 6:
                threading.Timer(0.2, storage.may_store.set).start()
                raise ZeroDivisionError
            return super().train_batch(batch, epoch_idx, batch_idx)

    run, storage = slowed(FailingTrial, tmp_path, [100])
    with pytest.raises(ZeroDivisionError):
        run.finish()
    assert checkpoints(run) == [4]


class Diary(PyTorchCallback):
    """A callback whose state is an object that goes on changing."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tensor = torch.zeros(2)

    def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
        self.lines.append("trained")
        self.tensor += 1

    def state_dict(self) -> dict[str, Any]:
        return {"lines": self.lines, "deque": collections.deque(self.lines), "tensor": self.tensor}


class DiaryTrial(ContextTrial):
    def build_callbacks(self) -> dict[str, PyTorchCallback]:
        return {"diary": Diary()}


def test_the_state_of_callbacks_is_that_of_the_same_moment(tmp_path: pathlib.Path) -> None:
    run, storage = slowed(DiaryTrial, tmp_path, [100])
    steps_until(run, 8)
    storage.may_store.set()
    run.loop._settle(wait=True)
    state = torch.load(tmp_path / str(run.drop()) / "state-dict.pth", weights_only=False)["callbacks"]["diary"]
    assert state["lines"] == list(state["deque"]) == ["trained"] * 2
    assert state["tensor"].tolist() == [2, 2]


def hooked(hook: str, seen: list[Any]) -> type[ContextTrial]:
    def call(self: Any, given: str) -> None:
        seen.append(sorted(path.name for path in pathlib.Path(given).glob("*.pth")))

    callback = type("Hooked", (PyTorchCallback,), {hook: call})
    return type("HookedTrial", (ContextTrial,), {"build_callbacks": lambda self: {"hooked": callback()}})


@pytest.mark.parametrize("hook", ["on_checkpoint_end", "on_checkpoint_write_end"])
def test_a_hook_that_gets_the_files_is_called_before_the_next_batch(hook: str, tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []
    run = Run(hooked(hook, seen), tmp_path, lengths=[100], config=CONFIG).start()
    steps_until(run, 4)
    run.loop.step()
    assert seen == [["state-dict.pth", "state_dict.pth", "trial-state.pth"]]


def test_a_hook_that_learns_of_the_storing_is_called_before_the_next_batch(tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []
    run = Run(hooked("on_checkpoint_upload_end", seen), tmp_path, lengths=[100], config=CONFIG).start()
    steps_until(run, 4)
    run.loop.step()
    assert len(seen) == 1
    assert checkpoints(run) == [4]


def test_without_memory_for_a_copy_training_waits_until_the_files_are_written(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("determined._runtime.available_memory", lambda: 10)
    run = train(EverythingTrial, tmp_path / "a", 20, config=CONFIG)
    assert "training waits until the checkpoint is written: a copy of its state needs" in caplog.text
    monkeypatch.undo()
    assert train(EverythingTrial, tmp_path / "b", 20, config=CONFIG).weights() == run.weights()


def test_a_saver_reports_what_was_written_by_either_way(tmp_path: pathlib.Path) -> None:
    def write(text: str) -> Any:
        return lambda directory: (pathlib.Path(directory) / "file").write_text(text)

    run = Run(ContextTrial, tmp_path, lengths=[1])
    saver = Saver(run.client, run.storage)
    assert saver.settled(wait=True) is None
    snapshots = [Snapshot(write("now")), Snapshot(write("now"), lambda: write("later"))]
    for i, (snapshot, in_background, content) in enumerate(
        [
            (snapshots[0], False, "now"),
            (snapshots[1], False, "now"),
            (snapshots[0], True, "now"),
            (snapshots[1], True, "later"),
        ]
    ):
        saver.save(Pending(f"uuid-{i}", i, "test", "{}", "{}"), snapshot, in_background=in_background)
        assert saver.settled(wait=True) == f"uuid-{i}"
        assert saver.settled(wait=False) is None
        assert (tmp_path / f"uuid-{i}" / "file").read_text() == content
    assert checkpoints(run) == [0, 1, 2, 3]


def test_what_a_trial_wrote_itself_is_out_of_its_reach_afterwards(tmp_path: pathlib.Path) -> None:
    places: list[str] = []
    run, storage = slowed(ContextTrial, tmp_path, [1])
    storage.draft = lambda uuid: DirectoryStorage.draft(storage, uuid)  # type: ignore[method-assign]
    saver = Saver(run.client, storage)
    saver.save(Pending("uuid", 1, "test", "{}", "{}"), Snapshot(places.append), in_background=True)
    assert not pathlib.Path(places[0]).exists()
    storage.may_store.set()
    assert saver.settled(wait=True) == "uuid"


def test_a_copy_keeps_structure_sharing_and_attributes_and_nothing_of_it_changes() -> None:
    base = torch.arange(12.0)
    module = torch.nn.BatchNorm1d(3)
    value = {
        "view": base[2:8].reshape(2, 3).t(),
        "same": [base, (base, None)],
        "module": module.state_dict(),
        "parameter": torch.nn.Parameter(base, requires_grad=False),
        "numpy": np.arange(3),
        "object": collections.Counter("aab"),
        7: torch.tensor([], dtype=torch.int8),
    }
    stage = _staging.Stage()
    copied = stage.copy_of(value)
    base.add_(100)
    value["numpy"][0] = 9
    value["object"]["a"] = 0
    with torch.no_grad():
        module.weight.zero_()
    assert copied["view"].tolist() == torch.arange(12.0)[2:8].reshape(2, 3).t().tolist()
    assert copied["same"][1][0].data_ptr() == copied["same"][0].data_ptr() == copied["parameter"].data_ptr()
    assert type(copied["parameter"]) is torch.nn.Parameter
    assert copied["module"]._metadata == module.state_dict()._metadata
    assert copied["module"]["weight"].tolist() == [1, 1, 1]
    assert copied["numpy"].tolist() == [0, 1, 2]
    assert copied["object"] == {"a": 2, "b": 1}
    assert copied[7].dtype == torch.int8


def test_the_next_copy_uses_the_same_memory() -> None:
    stage, value = _staging.Stage(), {"a": torch.ones(1000), "b": torch.ones(1000), "c": torch.ones(5)}
    places = [{one.data_ptr() for one in stage.copy_of(value).values()} for _ in range(3)]
    assert places[0] == places[1] == places[2]
    assert len(places[0]) == 3


def test_what_cannot_be_copied_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert _staging.Stage().copy_of({"lock": threading.Lock()}) is None
    assert "a lock in it can't be copied" in caplog.text


def test_damage_is_named_although_the_files_are_read_at_the_same_time(tmp_path: pathlib.Path) -> None:
    runtime = pytest.importorskip("determined._runtime")
    section = {"type": "directory", "container_path": str(tmp_path / "real")}
    storage = runtime.CheckpointStorage.from_config_json(json.dumps(section), "")
    run = Run(ContextTrial, tmp_path / "unused", lengths=[4], config=CONFIG)
    run.loop._saver = Saver(run.client, storage)
    uuid = run.start().finish().newest_checkpoint()
    file = tmp_path / "real" / str(uuid) / "state-dict.pth"
    content = bytearray(file.read_bytes())
    for at in (10, len(content) // 2):  # where the file can't be loaded, and where only a number changes
        damaged = bytearray(content)
        damaged[at] ^= 1
        file.write_bytes(damaged)
        again = Run(ContextTrial, tmp_path / "unused", lengths=[4], config=CONFIG, checkpoint=uuid)
        again.loop._storage = storage
        with pytest.raises(Exception, match=r"state-dict\.pth is damaged: its XXH3"):
            again.start()
