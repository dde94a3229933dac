"""A state that changes everywhere in each batch, and is large enough that several batches pass while it is saved."""

from typing import Any, Dict

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext

WIDTH = 1500


class WideTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.2), nn.Tanh()) for _ in range(3)]
        self.model = context.wrap_model(nn.Sequential(*layers, nn.Linear(WIDTH, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=1e-4))

    def loader(self, size: int) -> DataLoader:
        generator = torch.Generator().manual_seed(size)
        return DataLoader(torch.randn(size, WIDTH, generator=generator), batch_size=4, shuffle=size > 8)

    def build_training_data_loader(self) -> DataLoader:
        return self.loader(64)

    def build_validation_data_loader(self) -> DataLoader:
        return self.loader(8)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        loss = (self.model(batch) - batch.mean(1, keepdim=True)).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": (self.model(batch) - batch.mean(1, keepdim=True)).pow(2).mean()}
