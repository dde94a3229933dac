"""A trial for each of the four models; it writes the time per batch to a file."""

from __future__ import annotations

import pathlib
import time
from typing import Any

from models import trial_class

from determined.pytorch import PyTorchTrial


def timed(name: str) -> type[PyTorchTrial]:
    """The trial, writing the time per batch between `data.first` and `data.last` to `data.times`."""
    base: Any = trial_class(name)

    class Timed(base):  # type: ignore[misc]
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            data = context.get_data_config()
            self.first, self.last, self.times = data["first"], data["last"], data["times"]

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
            if batch_idx == self.first:
                self.start = time.monotonic()
            if batch_idx == self.last and self.context.distributed.get_rank() == 0:
                seconds = (time.monotonic() - self.start) / (self.last - self.first)
                pathlib.Path(self.times).write_text(str(seconds))
            found: dict[str, Any] = super().train_batch(batch, epoch_idx, batch_idx)
            return found

    return Timed


TinyTrial = timed("tiny")
MlpTrial = timed("mlp")
CnnTrial = timed("cnn")
LstmTrial = timed("lstm")
