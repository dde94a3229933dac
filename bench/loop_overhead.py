"""How much slower is a trial's training loop than a bare PyTorch loop, and how does PyTorch Lightning's compare?

Processor time per batch, one thread, data in memory; the variants take turns in one process. There are two models: one
so small that only the loop is measured (a linear layer, four records per batch), and the tutorial's CNN. Every variant
reports two metrics. The first run installs Lightning into build/lightning; `--no-lightning` leaves it out.

Usage: OMP_NUM_THREADS=1 python bench/loop_overhead.py [--no-lightning] [rounds, default 10]
"""

from __future__ import annotations

import importlib
import logging
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests"), str(ROOT / "bench" / "models" / "ranks")]

import common  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

from determined.pytorch import DataLoader, PyTorchTrial  # noqa: E402

LIGHTNING = ROOT / "build" / "lightning"
WARM_UP = 20


class Task:
    """A model, its data and the metrics of one batch."""

    def __init__(
        self, batch_size: int, batches: int, data: Callable[[], Any], model: Callable[[], nn.Module], step: Any
    ) -> None:
        self.batch_size, self.batches, self.data, self.model, self.step = batch_size, batches, data, model, step

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)


def line_data() -> Any:
    x = torch.linspace(-1, 1, 4000).unsqueeze(1)
    return torch.utils.data.TensorDataset(x, 2 * x)


def line_losses(model: nn.Module, batch: Any) -> dict[str, Any]:
    loss = nn.functional.mse_loss(model(batch[0]), batch[1])
    return {"loss": loss, "records": float(len(batch[0]))}


TASKS = {
    "line": Task(4, 1000, line_data, lambda: nn.Linear(1, 1), line_losses),
    "CNN": Task(64, 40, common.dataset, common.build_model, common.losses),
}


def trial_loop(task: Task, place: pathlib.Path) -> Callable[[], float]:
    from harness import Run

    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(task.model())
            self.optimizer = context.wrap_optimizer(task.optimizer(self.model))

        def build_training_data_loader(self) -> DataLoader:
            return DataLoader(task.data(), batch_size=task.batch_size)

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            result = task.step(self.model, batch)
            self.context.backward(result["loss"])
            self.context.step_optimizer(self.optimizer)
            return result

        def evaluate_batch(self, batch: Any) -> Any:
            return task.step(self.model, batch)

    config = {"hyperparameters": {"global_batch_size": task.batch_size}, "scheduling_unit": task.batches}
    run = Run(Trial, place, lengths=[10**9], config=config).start()
    run.steps(2)

    def measure() -> float:
        start = time.process_time()
        run.steps(1)
        return (time.process_time() - start) / task.batches

    return measure


def bare_loop(task: Task) -> Callable[[], float]:
    """What a user would write without the platform."""
    model = task.model()
    optimizer = task.optimizer(model)
    loader = torch.utils.data.DataLoader(task.data(), batch_size=task.batch_size)
    source: Any = iter(loader)

    def train(count: int) -> dict[str, float]:
        nonlocal source
        model.train()
        sums: dict[str, float] = {}
        for _ in range(count):
            try:
                batch = next(source)
            except StopIteration:
                source = iter(loader)
                batch = next(source)
            result = task.step(model, batch)
            result["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            for name, value in result.items():
                sums[name] = sums.get(name, 0.0) + float(value)
        return sums

    def measure() -> float:
        start = time.process_time()
        train(task.batches)
        return (time.process_time() - start) / task.batches

    train(WARM_UP)
    return measure


def lightning_loop(task: Task) -> Callable[[], float]:
    pl: Any = _lightning()

    class Module(pl.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = task.model()
            self.began = 0.0

        def configure_optimizers(self) -> Any:
            return task.optimizer(self.model)

        def training_step(self, batch: Any, index: int) -> Any:
            result = task.step(self.model, batch)
            self.log_dict(result, on_step=False, on_epoch=True, batch_size=task.batch_size)
            return result["loss"]

        def on_train_batch_start(self, batch: Any, index: int) -> None:
            if self.trainer.global_step == WARM_UP:
                self.began = time.process_time()

    module = Module()
    loader = torch.utils.data.DataLoader(task.data(), batch_size=task.batch_size)

    def measure() -> float:
        trainer = pl.Trainer(
            accelerator="cpu",
            max_steps=task.batches + WARM_UP,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(module, loader)
        return (time.process_time() - module.began) / task.batches

    return measure


def _lightning() -> Any:
    """Imports Lightning; installs it first, with the dependencies that the environment lacks."""
    if not LIGHTNING.is_dir():
        wanted = ["lightning", "lightning-utilities", "torchmetrics", "tqdm", "setuptools<81"]
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(LIGHTNING), *wanted]
        subprocess.run(command, check=True)
    sys.path.append(str(LIGHTNING))
    found = importlib.import_module("lightning.pytorch")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.ERROR)
    return found


def main() -> None:
    words = sys.argv[1:]
    with_lightning = "--no-lightning" not in words
    rounds = next((int(word) for word in words if word.isdigit()), 10)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name, task in TASKS.items():
        with tempfile.TemporaryDirectory() as place:
            loops = {"bare": bare_loop(task), "trial": trial_loop(task, pathlib.Path(place))}
            if with_lightning:
                loops["lightning"] = lightning_loop(task)
            torch.set_num_threads(1)
            found: dict[str, list[float]] = {variant: [] for variant in loops}
            for _ in range(rounds):
                for variant, measure in loops.items():
                    found[variant].append(measure())
        for variant, seconds in found.items():
            pairs = list(zip(seconds, found["bare"], strict=True))
            more = statistics.median(a - b for a, b in pairs) * 1e6
            ratio = statistics.median(a / b for a, b in pairs)
            print(
                f"{name}, {variant}: {statistics.median(seconds) * 1e6:.1f} us per batch, "
                f"ratio {ratio:.4f}, {more:+.1f} us (medians of {rounds})",
                flush=True,
            )


if __name__ == "__main__":
    main()
