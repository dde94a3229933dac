"""How long does a trial wait for a checkpoint, how long is it until the checkpoint is stored, and how fast is it read?

The state is a model on the CPU and its optimizer with momentum. Every way of saving takes its turn in each round:

- `background`: what a trial does when more training follows. `call` is how long it waits, `stall` what saving adds in
  all to the time of the batches that are trained until the checkpoint is stored, `stored` the time until then: written,
  hashed, synced, published.
- `foreground`: what a trial does before it ends or pauses.
- `torch.save`: model and optimizer to one file on the same file system, synced.
- `DCP async`: `torch.distributed.checkpoint.async_save` of the same state, in the same way. It does not sync.

`restore` is what a resumed trial waits for, verified, until its state is loaded; `torch.load` only reads its file.

Usage: python bench/checkpoints.py [megabytes of weights, default 200] [rounds, default 7]
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
import warnings
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from harness import Run  # noqa: E402
from torch import nn  # noqa: E402

from determined import _runtime  # noqa: E402
from determined._run._saving import Pending, Saver  # noqa: E402
from determined.pytorch import DataLoader, PyTorchTrial  # noqa: E402

WIDTH = 1024


def trial_class(layers: int) -> type[PyTorchTrial]:
    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(layers))))
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9))

        def build_training_data_loader(self) -> DataLoader:
            return DataLoader(torch.utils.data.TensorDataset(torch.randn(64, WIDTH)), batch_size=32)

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            loss = self.model(batch[0]).square().mean()
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> Any:
            return {"val_loss": self.model(batch[0]).square().mean()}

    return Trial


class Bench:
    def __init__(self, layers: int, place: pathlib.Path) -> None:
        self.place = place
        config = {"type": "directory", "container_path": str(place / "storage")}
        self.storage: Any = _runtime.CheckpointStorage.from_config_json(json.dumps(config), "")
        self.storage.probe()
        self.run = Run(trial_class(layers), place / "unused", lengths=[10**6], config={"scheduling_unit": 2})
        self.run.start().steps(3)
        self.reported = 0.0
        self.run.client.report_checkpoint = self.report_checkpoint  # type: ignore[method-assign]
        self.times: dict[str, list[float]] = {}
        self.size = 0

    def report_checkpoint(self, *_: Any) -> None:
        self.reported = time.monotonic()

    def note(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)

    def timed(self, name: str, body: Callable[[], Any]) -> Any:
        began = time.monotonic()
        result = body()
        self.note(name, time.monotonic() - began)
        return result

    def batches(self, count: int) -> float:
        began = time.monotonic()
        self.run.controller.train(count)
        return time.monotonic() - began

    def save(self, *, in_background: bool) -> tuple[Saver, str]:
        saver = Saver(self.run.client, self.storage)
        uuid = _runtime.new_uuid()
        snapshot = self.run.controller.snapshot({"state": self.run.loop.state.to_dict(), "searcher_metric": None})
        saver.save(Pending(uuid, 1, "bench", "{}", "{}"), snapshot, in_background=in_background)
        return saver, uuid

    def background(self) -> None:
        alone = statistics.median(self.batches(1) for _ in range(5))
        began = time.monotonic()
        saver, uuid = self.save(in_background=True)
        self.note("background: call", time.monotonic() - began)
        count = 0
        while saver.settled(wait=False) is None:
            self.batches(1)
            count += 1
        self.note("background: stall", time.monotonic() - began - count * alone)
        self.note("background: stored", self.reported - began)
        self.size = os.path.getsize(pathlib.Path(self.storage.place(uuid)) / "state-dict.pth")
        self.forget(uuid)

    def foreground(self) -> str:
        _, uuid = self.timed("foreground", lambda: self.save(in_background=False))
        return uuid

    def plain_state(self) -> dict[str, Any]:
        return {"model": self.run.trial.model.state_dict(), "optimizer": self.run.trial.optimizer.state_dict()}

    def plain(self) -> None:
        def body() -> None:
            with open(self.place / "plain.pth", "wb") as file:
                torch.save(self.plain_state(), file)
                file.flush()
                os.fsync(file.fileno())

        self.timed("torch.save and sync", body)

    def dcp(self) -> None:
        alone = statistics.median(self.batches(1) for _ in range(5))
        where = self.place / "dcp"
        began = time.monotonic()
        future: Any = dcp.async_save(self.plain_state(), checkpoint_id=str(where))
        self.note("DCP async: call", time.monotonic() - began)
        ended: list[float] = []
        future.add_done_callback(lambda _: ended.append(time.monotonic()))
        count = 0
        while not ended:
            self.batches(1)
            count += 1
        self.note("DCP async: stall", time.monotonic() - began - count * alone)
        future.result()
        self.note("DCP async: stored, not synced", ended[0] - began)
        shutil.rmtree(where)

    def restore(self, uuid: str) -> None:
        from determined._run._loop import _checkpoint_directory

        def body() -> None:
            with _checkpoint_directory(self.storage, uuid, verifies=True) as directory:
                self.run.controller.start(directory, uuid, weights_only=False)

        self.timed("restore", body)
        self.timed("torch.load", lambda: torch.load(self.place / "plain.pth", weights_only=False))
        self.forget(uuid)

    def forget(self, uuid: str) -> None:
        shutil.rmtree(self.storage.place(uuid))


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    layers = max(1, megabytes * 2**20 // (4 * WIDTH * (WIDTH + 1)))
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(layers, pathlib.Path(directory))
        for _ in range(rounds):
            bench.plain()
            uuid = bench.foreground()
            bench.restore(uuid)
            bench.background()
            bench.dcp()
    print(f"state of {bench.size / 1e6:.0f} MB, {torch.get_num_threads()} thread(s), median of {rounds} rounds")
    for name, seconds in bench.times.items():
        print(f"{name:32} {statistics.median(seconds) * 1000:7.0f} ms")
    for ours, theirs in (
        ("foreground", "torch.save and sync"),
        ("background: stored", "torch.save and sync"),
        ("background: stall", "torch.save and sync"),
        ("background: stall", "foreground"),
        ("background: stall", "DCP async: stall"),
        ("restore", "torch.load"),
    ):
        ratio = statistics.median(x / y for x, y in zip(bench.times[ours], bench.times[theirs], strict=True))
        print(f"{ours} takes {ratio:.2f} times as long as {theirs}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
