"""Shared by the trial and the bare script: the tutorial's CNN on data in memory."""

import pathlib
import time
from typing import Any

import torch
from torch import nn

RECORDS = 64 * 40


def dataset() -> torch.utils.data.TensorDataset:
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(RECORDS, 1, 28, 28, generator=generator)
    return torch.utils.data.TensorDataset(images, torch.randint(0, 10, (RECORDS,), generator=generator))


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 40, kernel_size=5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(40, 40, kernel_size=5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(640, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10), nn.LogSoftmax(1),
    )  # fmt: skip


def losses(model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> dict[str, Any]:
    images, labels = batch
    output = model(images)
    error = 1.0 - float((output.argmax(1) == labels).sum()) / len(labels)
    return {"loss": nn.functional.nll_loss(output, labels), "error": error}


class Clock:
    """Writes the time per batch, between two batches, to a file."""

    def __init__(self, file: str, first: int, last: int) -> None:
        self.file, self.first, self.last = pathlib.Path(file), first, last

    def batch(self, index: int) -> None:
        if index == self.first:
            self.start = time.monotonic()
        if index == self.last:
            self.file.write_text(str((time.monotonic() - self.start) / (self.last - self.first)))
