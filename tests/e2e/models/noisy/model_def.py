"""A model of a few parameters in which every kind of chance matters: shuffling, dropout, noise on the data."""

import hashlib
import random
import time
from typing import Any, Dict

import numpy as np
import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext


class Pictures(torch.utils.data.Dataset):
    """Random pictures of eight by eight, shifted and made noisy anew every time."""

    def __init__(self, size: int, augment: bool) -> None:
        generator = torch.Generator().manual_seed(size)
        self.images = torch.rand(size, 64, generator=generator)
        self.labels = (self.images[:, :32].sum(1) > self.images[:, 32:].sum(1)).long()
        self.augment = augment

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        image = self.images[index]
        if self.augment:
            image = image.roll(random.randrange(3)) * float(np.random.uniform(0.8, 1.2))
            image = image + 0.1 * torch.randn(64)
        return image, self.labels[index]


class NoisyTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.lines = 0
        self.seconds = context.get_hparam("seconds_per_batch")
        self.model = context.wrap_model(
            nn.Sequential(nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
        )
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.01))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Pictures(333, augment=True), batch_size=8, shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Pictures(64, augment=False), batch_size=16)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        print(f"line {self.lines} batch {batch_idx}")  # lines count from 0 in every process
        self.lines += 1
        time.sleep(self.seconds)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        return {"validation_loss": loss, "weights": self.checksum()}

    def checksum(self) -> float:
        """The weights as one number that a double holds exactly."""
        digest = hashlib.sha256()
        for value in self.model.state_dict().values():
            digest.update(value.numpy().tobytes())
        return float(int.from_bytes(digest.digest()[:5], "big"))
