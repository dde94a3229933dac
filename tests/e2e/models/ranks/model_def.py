"""A trial of several ranks in which every kind of chance matters, and which stops at a chosen moment to be disturbed.

At the moment that the hyperparameter ``hold`` names, each rank writes a file into the directory of signals and waits
there until a file ``go`` appears: the first time only, so a second run passes by. There is one trial of each
generation; they train the same numbers. With the hyperparameter ``promoted`` nothing in them depends on where a training
report ends, for searches move those ends.
"""

import hashlib
import pathlib
import random
import time
from typing import Any, Dict

import numpy as np
import torch
from torch import nn

from determined.pytorch import DataLoader, LRScheduler, PyTorchCallback, PyTorchTrial, PyTorchTrialContext


class Pictures(torch.utils.data.Dataset):
    def __init__(self, size: int, noise: bool) -> None:
        self.images = torch.rand(size, 16, generator=torch.Generator().manual_seed(size))
        self.labels = (self.images[:, :8].sum(1) > self.images[:, 8:].sum(1)).long()
        self.noise = noise

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        image = self.images[index]
        if self.noise:
            image = image.roll(random.randrange(3)) * float(np.random.uniform(0.8, 1.2)) + 0.1 * torch.randn(16)
        return image, self.labels[index]


class Memory(PyTorchCallback):
    """A state of each rank's own, which changes what it trains; and the moments outside of batches."""

    def __init__(self, trial: "Disturbed") -> None:
        self.trial = trial
        self.drawn = float(trial.rank)
        self.promoted = trial.context.get_hparams().get("promoted", False)

    def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
        if not self.promoted:
            self.drawn += random.random()

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        if self.promoted:
            self.drawn += random.random()
        self.trial.moment("epoch end")

    def on_validation_start(self) -> None:
        self.trial.evaluated = 0

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        self.trial.moment("checkpoint")

    def state_dict(self) -> Dict[str, Any]:
        return {"drawn": self.drawn}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.drawn = state_dict["drawn"]


class Disturbed(PyTorchTrial):
    """What both generations share."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.rank = context.distributed.get_rank()
        self.signals = pathlib.Path(context.get_data_config()["signals"])
        self.memory = Memory(self)
        self.evaluated = 0

    def network(self) -> nn.Module:
        return nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))

    def adam(self, model: nn.Module) -> torch.optim.Optimizer:
        torch.manual_seed(100 + self.rank)  # every rank draws its own dropout
        return torch.optim.Adam(model.parameters(), lr=0.01)

    def schedule(self, optimizer: torch.optim.Optimizer) -> Any:
        return torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.97)

    def moment(self, name: str) -> None:
        held = self.signals / f"held-{self.rank}"
        if self.context.get_hparam("hold") != name or held.exists():
            return
        held.touch()
        limit = time.monotonic() + 120
        while not (self.signals / "go").exists() and time.monotonic() < limit:
            time.sleep(0.02)

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return {"memory": self.memory}

    def build_training_data_loader(self) -> DataLoader:
        size = self.context.get_per_slot_batch_size()
        return DataLoader(Pictures(57, noise=True), batch_size=size, shuffle=True, drop_last=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Pictures(30, noise=False), batch_size=4)

    def loss(self, model: nn.Module, batch: Any, batch_idx: int) -> torch.Tensor:
        if batch_idx == 10:
            self.moment("mid-epoch")
        images, labels = batch
        return nn.functional.cross_entropy(model(images) + 0.01 * self.memory.drawn, labels)

    def metrics(self, model: nn.Module, batch: Any) -> Dict[str, Any]:
        if self.evaluated == 1:
            self.moment("validation")
        images, labels = batch
        loss = nn.functional.cross_entropy(model(images), labels)
        agree = 1.0
        if self.evaluated == 0:
            sums = self.context.distributed.allgather(checksum(model))
            agree = float(all(one == sums[0] for one in sums))
        self.evaluated += 1
        return {"validation_loss": loss, "agree": agree}


class RanksTrial(Disturbed):
    """Of the context generation."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        super().__init__(context)
        self.model = context.wrap_model(self.network())
        self.adam_optimizer = context.wrap_optimizer(self.adam(self.model))
        context.wrap_lr_scheduler(self.schedule(self.adam_optimizer), LRScheduler.StepMode.STEP_EVERY_EPOCH)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        loss = self.loss(self.model, batch, batch_idx)
        self.context.backward(loss)
        self.context.step_optimizer(self.adam_optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return self.metrics(self.model, batch)


class ClassicRanksTrial(Disturbed):
    """Of the classic generation."""

    def build_model(self) -> nn.Module:
        return self.network()

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return self.adam(model)

    def create_lr_scheduler(self, optimizer: torch.optim.Optimizer) -> LRScheduler:
        return LRScheduler(self.schedule(optimizer), LRScheduler.StepMode.STEP_EVERY_EPOCH)

    def train_batch(self, batch: Any, model: nn.Module, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        return {"loss": self.loss(model, batch, batch_idx)}

    def evaluate_batch(self, batch: Any, model: nn.Module) -> Dict[str, Any]:
        return self.metrics(model, batch)


def checksum(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for value in model.state_dict().values():
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()
