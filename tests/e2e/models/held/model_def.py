"""A tiny model whose saves wait, half done, while a file `hold` lies beside the checkpoints."""

import pathlib
import time
from typing import Any, Dict

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchCallback, PyTorchTrial, PyTorchTrialContext


class Hold(PyTorchCallback):
    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        while (pathlib.Path(checkpoint_dir).parent / "hold").exists():
            time.sleep(0.01)


class HeldTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return {"hold": Hold()}

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(torch.linspace(-1, 1, 16).reshape(16, 1), batch_size=4)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(torch.linspace(-1, 1, 4).reshape(4, 1), batch_size=4)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        loss = (self.model(batch) - 3 * batch).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": (self.model(batch) - 3 * batch).pow(2).mean()}
