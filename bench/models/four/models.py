"""Four small models; ../four_cxx/models.h has them in C++."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial


def tiny() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 40, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(40, 40, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(640, 50), nn.ReLU(), nn.Dropout(0.5), nn.Linear(50, 10),
    )  # fmt: skip


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.last = nn.Linear(128, 1000)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.lstm(self.embedding(words))[0][:, 31])
        return found


class Whole(torch.utils.data.TensorDataset):
    """Selects a whole batch at once, as the C++ data set does."""

    def __getitems__(self, indices: list[int]) -> Any:
        rows = torch.tensor(indices)
        return [tensor.index_select(0, rows) for tensor in self.tensors]


@dataclasses.dataclass(frozen=True)
class Case:
    make: Callable[[], nn.Module]
    batch: int
    chunk: int  # batches reported together
    shape: tuple[int, ...]
    classes: int = 10
    loss: Callable[[Any, Any], torch.Tensor] = nn.functional.cross_entropy


CASES = {
    "tiny": Case(tiny, 1, 1000, (4096, 8), loss=nn.functional.mse_loss),
    "mlp": Case(mlp, 64, 100, (6400, 784)),
    "cnn": Case(cnn, 64, 5, (2560, 1, 28, 28)),
    "lstm": Case(Lstm, 16, 20, (640, 32), classes=1000),
}


def trial_class(name: str, optimizer: str = "sgd") -> type[PyTorchTrial]:
    case = CASES[name]
    records = case.shape[0]

    class Trial(PyTorchTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(case.make())
            parameters = self.model.parameters()
            rule = (
                torch.optim.SGD(parameters, lr=0.001, momentum=0.9)
                if optimizer == "sgd"
                else torch.optim.Adam(parameters, lr=0.001)
            )
            self.optimizer = context.wrap_optimizer(rule)

        def build_training_data_loader(self) -> DataLoader:
            target = torch.randn(records, 4) if name == "tiny" else torch.randint(0, case.classes, (records,))
            data = torch.randint(0, 1000, case.shape) if name == "lstm" else torch.randn(case.shape)
            return DataLoader(Whole(data, target), batch_size=case.batch, collate_fn=lambda batch: batch)

        def build_validation_data_loader(self) -> DataLoader:
            return self.build_training_data_loader()

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
            data, target = batch
            loss = case.loss(self.model(data), target)
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}

        def evaluate_batch(self, batch: Any) -> dict[str, Any]:
            return {"nothing": 0.0}

    return Trial
