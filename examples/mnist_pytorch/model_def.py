import gzip
import os
from typing import Any, Dict, Tuple, cast

import torch
from torch import nn

import determined as det
from determined.pytorch import DataLoader, PyTorchTrial, TorchData, reset_parameters


class Flatten(nn.Module):
    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return args[0].contiguous().view(args[0].size(0), -1)


def error_rate(predictions: torch.Tensor, labels: torch.Tensor) -> float:
    matches = predictions.argmax(1) == labels.to(torch.long)
    return 1.0 - float(matches.sum()) / predictions.shape[0]


class MNistTrial(PyTorchTrial):
    def __init__(self, context: det.TrialContext):
        self.context = context

    def read(self, name: str, header: int) -> torch.Tensor:
        directory = self.context.get_data_config()["directory"]
        with gzip.open(os.path.join(directory, name + "-ubyte.gz")) as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)[header:]

    def load(self, name: str) -> DataLoader:
        images = self.read(name + "-images-idx3", 16).view(-1, 1, 28, 28)
        labels = self.read(name + "-labels-idx1", 8).long()
        dataset = torch.utils.data.TensorDataset((images / 255 - 0.2860) / 0.3530, labels)
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size())

    def build_training_data_loader(self) -> DataLoader:
        return self.load("train")

    def build_validation_data_loader(self) -> DataLoader:
        return self.load("t10k")

    def build_model(self) -> nn.Module:
        model = nn.Sequential(
            nn.Conv2d(1, self.context.get_hparam("n_filters1"), kernel_size=5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(
                self.context.get_hparam("n_filters1"), self.context.get_hparam("n_filters2"), kernel_size=5,
            ),
            nn.MaxPool2d(2),
            nn.ReLU(),
            Flatten(),
            nn.Linear(16 * self.context.get_hparam("n_filters2"), 50),
            nn.ReLU(),
            nn.Dropout2d(self.context.get_hparam("dropout")),
            nn.Linear(50, 10),
            nn.LogSoftmax(),
        )

        reset_parameters(model)
        return model

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            model.parameters(), lr=self.context.get_hparam("learning_rate"), momentum=0.9
        )

    def train_batch(
        self, batch: TorchData, model: nn.Module, epoch_idx: int, batch_idx: int
    ) -> Dict[str, Any]:
        batch = cast(Tuple[torch.Tensor, torch.Tensor], batch)
        data, labels = batch

        output = model(data)
        loss = torch.nn.functional.nll_loss(output, labels)
        error = error_rate(output, labels)

        return {"loss": loss, "train_error": error}

    def evaluate_batch(self, batch: TorchData, model: nn.Module) -> Dict[str, Any]:
        batch = cast(Tuple[torch.Tensor, torch.Tensor], batch)
        data, labels = batch

        output = model(data)
        error = error_rate(output, labels)

        return {"validation_error": error}
