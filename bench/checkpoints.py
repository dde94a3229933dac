"""How fast is a checkpoint saved and read, compared with `torch.save` and `torch.load` of the same state?

The state is a model on the CPU and its optimizer with momentum. `trial` is everything a trial waits for: the state is
collected, written to files, copied to the storage, synced and published. `torch.save` writes model and optimizer to one
file on the same file system and syncs it; `bare` skips the sync. `restore` is what a resumed trial waits for, compared
with `torch.load`. All of them take turns.

Usage: python bench/checkpoints.py [megabytes of weights, default 100] [rounds, default 7]
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

import torch  # noqa: E402
from harness import Run  # noqa: E402
from torch import nn  # noqa: E402

from determined import _runtime  # noqa: E402
from determined.pytorch import DataLoader, PyTorchTrial  # noqa: E402

WIDTH = 1024


def trial_class(layers: int) -> type[PyTorchTrial]:
    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(layers))))
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9))

        def build_training_data_loader(self) -> DataLoader:
            return DataLoader(torch.utils.data.TensorDataset(torch.randn(8, WIDTH)), batch_size=4)

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            loss = self.model(batch[0]).square().mean()
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> Any:
            return {"val_loss": self.model(batch[0]).square().mean()}

    return Trial


def saved(run: Run, storage: Any) -> tuple[float, int, str]:
    """Saves one checkpoint as the training loop does; returns seconds, bytes and the UUID."""
    began = time.monotonic()
    directory = tempfile.mkdtemp(prefix="checkpoint-")
    run.controller.save(directory, {"state": run.loop.state.to_dict(), "searcher_metric": None})
    uuid = _runtime.new_uuid()
    resources = storage.save(directory, uuid)
    shutil.rmtree(directory)
    return time.monotonic() - began, sum(resources.values()), uuid


def plain(run: Run, place: pathlib.Path, *, sync: bool) -> float:
    began = time.monotonic()
    trial = run.trial
    with open(place / "plain.pth", "wb") as file:
        torch.save({"model": trial.model.state_dict(), "optimizer": trial.optimizer.state_dict()}, file)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    return time.monotonic() - began


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    layers = max(1, megabytes * 2**20 // (4 * WIDTH * (WIDTH + 1)))
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        storage: Any = _runtime.CheckpointStorage.from_config_json(
            json.dumps({"type": "directory", "container_path": str(place / "storage")}), ""
        )
        storage.probe()
        run = Run(trial_class(layers), place / "unused", lengths=[10], config={"scheduling_unit": 2}).start().steps(2)
        times: dict[str, list[float]] = {"trial": [], "torch.save": [], "bare": [], "restore": [], "torch.load": []}
        size = 0
        for _ in range(rounds):
            seconds, size, uuid = saved(run, storage)
            times["trial"].append(seconds)
            times["torch.save"].append(plain(run, place, sync=True))
            times["bare"].append(plain(run, place, sync=False))
            began = time.monotonic()
            run.controller.start(storage.path(uuid), uuid, weights_only=False)
            times["restore"].append(time.monotonic() - began)
            began = time.monotonic()
            torch.load(place / "plain.pth", weights_only=False)
            times["torch.load"].append(time.monotonic() - began)
            shutil.rmtree(storage.path(uuid))
    for name, seconds in times.items():
        print(f"{name}: median {size / statistics.median(seconds) / 1e6:.0f} MB/s ({size / 1e6:.0f} MB)")
    for a, b in (("trial", "torch.save"), ("trial", "bare"), ("restore", "torch.load")):
        ratio = statistics.median(x / y for x, y in zip(times[a], times[b], strict=True))
        print(f"{a} takes {ratio:.2f} times as long as {b} (median of {rounds} pairs)")


if __name__ == "__main__":
    main()
