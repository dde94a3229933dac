"""One small layer on sixteen records: a trial with almost no work of its own."""

from typing import Any

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext


class TinyTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(nn.Linear(8, 2))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    def records(self) -> torch.utils.data.TensorDataset:
        return torch.utils.data.TensorDataset(torch.ones(16, 8), torch.zeros(16, dtype=torch.long))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(self.records(), batch_size=4)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(self.records(), batch_size=4)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> dict[str, Any]:
        inputs, labels = batch
        return {"validation_loss": nn.functional.cross_entropy(self.model(inputs), labels)}
