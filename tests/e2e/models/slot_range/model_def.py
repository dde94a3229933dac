"""A trial that says which records each of its batches has, on whatever number of slots it runs."""

import pathlib
import time
from typing import Any, Dict

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext

RECORDS = 64


class Numbered(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.inputs = torch.randn(RECORDS, 8, generator=torch.Generator().manual_seed(RECORDS))

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> Any:
        return self.inputs[index], self.inputs[index].sum(), index


class NumberedTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.signals = pathlib.Path(context.get_data_config()["signals"])
        self.slots = context.get_experiment_config()["resources"]["slots_per_trial"]
        torch.manual_seed(3)
        self.model = context.wrap_model(nn.Linear(8, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.5))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Numbered(), batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Numbered(), batch_size=16)

    def loss(self, batch: Any) -> torch.Tensor:
        inputs, labels, _ = batch
        return nn.functional.mse_loss(self.model(inputs)[:, 0], labels)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        records = ",".join(map(str, sorted(batch[2].tolist())))
        print(f"batch {batch_idx} of epoch {epoch_idx} on {self.slots} slots has {records}")
        if not (self.signals / "hurry").exists():
            time.sleep(0.05)
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:
        return {"validation_loss": self.loss(batch)}
