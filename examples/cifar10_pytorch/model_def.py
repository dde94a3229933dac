"""A CNN for CIFAR-10: four convolutions, RMSprop, validation after every epoch."""

from typing import Any, Dict, Sequence, Union

import torch
from data import load
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


class CIFARTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        dropout1, dropout2 = context.get_hparam("layer1_dropout"), context.get_hparam("layer3_dropout")
        self.model = context.wrap_model(
            nn.Sequential(
                nn.Conv2d(3, 32, kernel_size=3),
                nn.ReLU(),
                nn.Conv2d(32, 32, kernel_size=3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Dropout2d(dropout1),
                nn.Conv2d(32, 64, kernel_size=3, padding=1),
                nn.ReLU(),
                nn.Conv2d(64, 64, kernel_size=3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Dropout2d(context.get_hparam("layer2_dropout")),
                nn.Flatten(),
                nn.Linear(64 * 6 * 6, 512),
                nn.ReLU(),
                nn.Dropout(dropout2),
                nn.Linear(512, 10),
            )
        )
        self.optimizer = context.wrap_optimizer(
            torch.optim.RMSprop(
                self.model.parameters(),
                lr=context.get_hparam("learning_rate"),
                weight_decay=context.get_hparam("learning_rate_decay"),
                alpha=0.9,
            )
        )

    def build_training_data_loader(self) -> DataLoader:
        dataset = load(self.context.get_data_config(), train=True)
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        dataset = load(self.context.get_data_config(), train=False)
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        images, labels = batch
        output = self.model(images)
        loss = nn.functional.cross_entropy(output, labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss, "train_error": error_rate(output, labels)}

    def evaluate_batch(self, batch: TorchData) -> Dict[str, Any]:
        images, labels = batch
        return {"validation_error": error_rate(self.model(images), labels)}


def error_rate(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return (output.argmax(1) != labels).float().mean()
