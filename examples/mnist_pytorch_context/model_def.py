"""A CNN for Fashion-MNIST: the trial wraps its model and optimizer, and goes backward and steps by itself."""

from typing import Any, Dict, Sequence, Union

import torch
from data import load
from torch import nn

from determined.pytorch import DataLoader, LRScheduler, PyTorchTrial, PyTorchTrialContext

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


class MNistTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        filters1 = context.get_hparam("n_filters1")
        filters2 = context.get_hparam("n_filters2")
        self.model = context.wrap_model(
            nn.Sequential(
                nn.Conv2d(1, filters1, 3),
                nn.ReLU(),
                nn.Conv2d(filters1, filters2, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Dropout2d(context.get_hparam("dropout1")),
                nn.Flatten(),
                nn.Linear(144 * filters2, 128),
                nn.ReLU(),
                nn.Dropout(context.get_hparam("dropout2")),
                nn.Linear(128, 10),
            )
        )
        self.optimizer = context.wrap_optimizer(
            torch.optim.Adadelta(self.model.parameters(), lr=context.get_hparam("learning_rate"))
        )
        self.lr_scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.7),
            step_mode=LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )

    def build_training_data_loader(self) -> DataLoader:
        dataset = load(self.context.get_data_config()["directory"], "train")
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        dataset = load(self.context.get_data_config()["directory"], "t10k")
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: TorchData) -> Dict[str, Any]:
        images, labels = batch
        output = self.model(images)
        correct = (output.argmax(1) == labels).float().mean()
        return {"validation_loss": nn.functional.cross_entropy(output, labels), "accuracy": correct}
