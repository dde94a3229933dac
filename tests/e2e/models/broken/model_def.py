"""Trials that go wrong, each in its own way."""

import signal
import subprocess
import time
from typing import Any, Dict

import torch

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext


class Fine(PyTorchTrial):
    """One weight, trained for nothing."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(torch.utils.data.TensorDataset(torch.zeros(64, 1)), batch_size=1)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(torch.utils.data.TensorDataset(torch.zeros(4, 1)), batch_size=1)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        return {"loss": 0.5}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": 0.25}


class Raises(Fine):
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        if batch_idx == 3:
            raise ValueError("the third batch is bad")
        return {"loss": 0.5}


class Stubborn(Fine):
    """Ignores being asked to end, and so does its child."""

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "4242"])
        print("stubborn now", child.pid, flush=True)
        while True:
            time.sleep(1)


class NotANumber(Fine):
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        return {"loss": float("nan")}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": 0.25, "slope": float("nan"), "bound": float("-inf")}


class NotComparable(Fine):
    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": float("nan")}
