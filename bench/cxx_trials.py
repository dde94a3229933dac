"""How many batches a second do trials in C++ and in Python train, and how near to a bare C++ loop?

Builds nothing: `cxx_trials` is a target of the release preset. One thread; seconds are those of the processor, each
figure is the best of all rounds.
Usage: OMP_NUM_THREADS=1 python bench/cxx_trials.py [seconds per round] [rounds]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "tests")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

from determined._env import EnvContext  # noqa: E402
from determined._launch import build  # noqa: E402
from determined.pytorch import DataLoader, PyTorchTrial  # noqa: E402

PROGRAM = os.environ.get("DET_CXX_TRIALS", str(ROOT / "build/release/bench/cxx/cxx_trials"))
Loss = Callable[[Any, Any], torch.Tensor]


def tiny() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 40, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(40, 40, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(640, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10),
    )  # fmt: skip


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.last = nn.Linear(128, 1000)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.lstm(self.embedding(words))[0][:, 31])
        return found


class Whole(torch.utils.data.TensorDataset):
    """Cuts a batch out of the tensors at once, as the C++ data set does."""

    def __getitems__(self, indices: list[int]) -> Any:
        rows = torch.tensor(indices)
        return [tensor.index_select(0, rows) for tensor in self.tensors]


CASES: dict[str, tuple[Callable[[], nn.Module], int, int, tuple[int, ...], Loss]] = {
    "tiny": (tiny, 1, 1000, (4096, 8), nn.functional.mse_loss),
    "mlp": (mlp, 64, 100, (6400, 784), nn.functional.cross_entropy),
    "cnn": (cnn, 64, 5, (2560, 1, 28, 28), nn.functional.cross_entropy),
    "lstm": (Lstm, 16, 20, (640, 32), nn.functional.cross_entropy),
}


def trial_class(name: str) -> type[PyTorchTrial]:
    make, size, _, shape, loss_function = CASES[name]

    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(make())
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9))

        def build_training_data_loader(self) -> DataLoader:
            target = torch.randn(shape[0], 4) if name == "tiny" else torch.randint(0, 10, (shape[0],))
            data = torch.randint(0, 1000, shape) if name == "lstm" else torch.randn(shape)
            return DataLoader(Whole(data, target), batch_size=size, collate_fn=lambda batch: batch)

        def build_validation_data_loader(self) -> DataLoader:
            return self.build_training_data_loader()

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
            data, target = batch
            loss = loss_function(self.model(data), target)
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> dict[str, Any]:
            return {}

    return Trial


def python_rate(name: str, seconds: float, rounds: int) -> float:
    chunk = CASES[name][2]
    env = EnvContext.for_debugging({"hyperparameters": {"global_batch_size": CASES[name][1]}}, managed=True)
    _, controller = build(trial_class(name), env, source=None)
    controller.start(None, None, weights_only=False)
    controller.train(chunk)
    best = 0.0
    for _ in range(rounds):
        began, done, passed = time.process_time(), 0, 0.0
        while passed < seconds:
            controller.train(chunk)
            done += chunk
            passed = time.process_time() - began
        best = max(best, done / passed)
    return best


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    answer = subprocess.run([PROGRAM, str(seconds), str(rounds)], capture_output=True, text=True, check=True).stdout
    print(f"{'model':6} {'C++ trial':>10} {'bare C++':>10} {'ratio':>7} {'Python':>10} {'C++/Python':>11}")
    for line in answer.splitlines():
        name, ours, bare, ratio = line.split()
        python = python_rate(name, seconds, rounds)
        print(f"{name:6} {ours:>10} {bare:>10} {ratio:>7} {python:10.1f} {float(ours) / python:11.2f}")


if __name__ == "__main__":
    main()
