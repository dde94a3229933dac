"""The trial that does on the platform what `bare.py` does under torchrun."""

from typing import Any

import torch
from common import Clock, build_model, dataset, losses

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext


class RanksTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        data = context.get_data_config()
        self.clock = Clock(data["times"], data["first"], data["last"])
        self.model = context.wrap_model(build_model())
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(dataset(), batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(torch.utils.data.Subset(dataset(), range(64)), batch_size=32)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        if self.context.distributed.get_rank() == 0:
            self.clock.batch(batch_idx)
        found = losses(self.model, batch)
        self.context.backward(found["loss"])
        self.context.step_optimizer(self.optimizer)
        return found

    def evaluate_batch(self, batch: Any) -> dict[str, Any]:
        return {"validation_error": losses(self.model, batch)["error"]}
