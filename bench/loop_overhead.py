"""How much slower is a trial's loop than a bare PyTorch loop, on the tutorial's CNN?

Prints the ratio of processor time per batch, one thread, preloaded data, the variants taking turns.
Usage: python bench/loop_overhead.py [batches per round] [rounds]
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from trials import ClassicTrial  # noqa: E402

from determined.pytorch import DataLoader  # noqa: E402

BATCH = 64


def dataset() -> torch.utils.data.TensorDataset:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(40 * BATCH, 1, 28, 28, generator=generator)
    return torch.utils.data.TensorDataset(images, torch.randint(0, 10, (40 * BATCH,), generator=generator))


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 40, kernel_size=5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(40, 40, kernel_size=5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(640, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10), nn.LogSoftmax(1),
    )  # fmt: skip


def metrics(output: torch.Tensor, labels: torch.Tensor, loss: torch.Tensor) -> dict[str, Any]:
    matches = output.argmax(1) == labels
    return {"loss": loss, "train_error": 1.0 - float(matches.sum()) / output.shape[0]}


class Trial(ClassicTrial):
    """The tutorial's trial over preloaded data."""

    def build_model(self) -> nn.Module:
        return build_model()

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(dataset(), batch_size=BATCH)

    def train_batch(self, batch: Any, model: nn.Module, epoch_idx: int, batch_idx: int) -> Any:
        data, labels = batch
        output = model(data)
        return metrics(output, labels, nn.functional.nll_loss(output, labels))


class Bare:
    """What a user would write without the platform, with the same metrics."""

    def __init__(self) -> None:
        self.model = build_model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9)
        self.loader = torch.utils.data.DataLoader(dataset(), batch_size=BATCH)
        self.batches = iter(self.loader)

    def train(self, count: int) -> None:
        self.model.train()
        losses, errors = 0.0, 0.0
        for _ in range(count):
            try:
                data, labels = next(self.batches)
            except StopIteration:
                self.batches = iter(self.loader)
                data, labels = next(self.batches)
            output = self.model(data)
            loss = nn.functional.nll_loss(output, labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            losses += loss.item()
            errors += metrics(output, labels, loss)["train_error"]


def measure(function: Any, batches: int) -> float:
    start = time.process_time()
    function()
    return (time.process_time() - start) / batches


def main() -> None:
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    from harness import Run

    with tempfile.TemporaryDirectory() as place:
        config = {"hyperparameters": {"global_batch_size": BATCH}, "scheduling_unit": batches}
        run = Run(Trial, pathlib.Path(place), lengths=[10**9], config=config).start()
        torch.set_num_threads(1)
        bare = Bare()
        run.steps(2)
        bare.train(batches)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(measure(lambda: run.steps(1), batches))
            theirs.append(measure(lambda: bare.train(batches), batches))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(f"trial {statistics.median(ours) * 1e3:.3f} ms, bare {statistics.median(theirs) * 1e3:.3f} ms per batch")
    print(f"ratio {ratio:.4f}")


if __name__ == "__main__":
    main()
