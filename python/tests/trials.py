"""Small trials for the tests."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import torch
from torch import nn

from determined.pytorch import (
    DataLoader,
    LRScheduler,
    PyTorchCallback,
    PyTorchTrial,
    PyTorchTrialContext,
    samplers,
)


class Points(torch.utils.data.Dataset[Any]):
    """Points in the plane and the side of a line they are on; with ``noise`` every look at one differs."""

    def __init__(self, count: int, *, noise: bool = False) -> None:
        generator = torch.Generator().manual_seed(0)
        self.inputs = torch.randn(count, 2, generator=generator)
        self.labels = (self.inputs.sum(1) > 0).long()
        self.noise = noise

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Any:
        point = self.inputs[index]
        if self.noise:
            point = point + 0.1 * torch.rand(2) + 0.1 * random.random() + 0.1 * np.random.rand()
        return point.float(), self.labels[index]


def network(dropout: float = 0.3) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 2))


class ContextTrial(PyTorchTrial):
    """Of the context generation, as plain as can be."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(network())
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9))

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Points(28), batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(12), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Any:
        inputs, labels = batch
        return {"val_loss": nn.functional.cross_entropy(self.model(inputs), labels)}


class ClassicTrial(PyTorchTrial):
    """Of the classic generation, the same model."""

    def __init__(self, trial_context: Any) -> None:
        self.context = trial_context

    def build_model(self) -> nn.Module:
        return network()

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Points(28), batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(12), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: Any, model: nn.Module, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        return nn.functional.cross_entropy(model(inputs), labels)

    def evaluate_batch(self, batch: Any, model: nn.Module) -> Any:
        inputs, labels = batch
        return {"val_loss": nn.functional.cross_entropy(model(inputs), labels)}


class Plateau(PyTorchCallback):
    """Lowers the learning rate by what validations say: state that changes outside of training."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
        self.seen: list[float] = []

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        self.seen.append(metrics["val_loss"])
        self.scheduler.step(metrics["val_loss"])

    def state_dict(self) -> dict[str, Any]:
        return {"scheduler": self.scheduler.state_dict(), "seen": self.seen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.scheduler.load_state_dict(state_dict["scheduler"])
        self.seen = state_dict["seen"]


class EverythingTrial(ContextTrial):
    """Dropout, batch norm, Adam and SGD, two models, schedulers, callbacks with state, noise in the data, shuffling."""

    workers = 0
    batch_size = 4

    def __init__(self, context: PyTorchTrialContext) -> None:
        super().__init__(context)
        self.head = context.wrap_model(nn.Linear(2, 2))
        self.adam = context.wrap_optimizer(torch.optim.Adam(self.head.parameters(), lr=0.01))
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=1, gamma=0.9),
            step_mode=LRScheduler.StepMode.STEP_EVERY_EPOCH,
        )
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.ExponentialLR(self.adam, gamma=0.99), LRScheduler.StepMode.STEP_EVERY_BATCH
        )

    def build_callbacks(self) -> dict[str, Any]:
        return {"plateau": Plateau(self.optimizer)}

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Points(27, noise=True), batch_size=self.batch_size, shuffle=True, num_workers=self.workers)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(12, noise=True), batch_size=self.batch_size, shuffle=True, num_workers=self.workers)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        output = self.head(self.model(inputs)) + 0.01 * random.random() + 0.01 * np.random.rand()
        loss = nn.functional.cross_entropy(output, labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, clip_grads=lambda p: nn.utils.clip_grad_norm_(p, 1.0))
        self.context.step_optimizer(self.adam)
        return {"loss": loss, "first": float(inputs[0, 0]), "lr": self.optimizer.param_groups[0]["lr"]}

    def evaluate_batch(self, batch: Any) -> Any:
        inputs, labels = batch
        random.random()
        np.random.rand()
        torch.rand(1)
        return {"val_loss": nn.functional.cross_entropy(self.head(self.model(inputs)), labels)}


class EverythingWithWorkersTrial(EverythingTrial):
    workers = 2


class SkipOnce(torch.utils.data.Sampler[Any]):
    """A shuffled order whose first pass begins in its middle."""

    def __init__(self, count: int, skip: int) -> None:
        self.inner = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(range(count)), 4, False)
        self.skip = skip

    def __len__(self) -> int:
        return len(self.inner)

    def __iter__(self) -> Any:
        skip, self.skip = self.skip, 0
        yield from itertools.islice(self.inner, skip, None)


class PlainLoaderTrial(EverythingTrial):
    """A loader of PyTorch, shuffled by the global generator, that finds its place by itself; noise in the data."""

    noise = True

    def __init__(self, context: PyTorchTrialContext) -> None:
        super().__init__(context)
        context.experimental.disable_dataset_reproducibility_checks()

    def build_training_data_loader(self) -> Any:
        points = Points(27, noise=self.noise)
        sampler = SkipOnce(27, self.context.get_initial_batch() % 7)
        return torch.utils.data.DataLoader(points, batch_sampler=sampler, num_workers=self.workers)


class PlainLoaderWithWorkersTrial(PlainLoaderTrial):
    noise, workers = False, 2


class RepeatedLoaderTrial(PlainLoaderTrial):
    """The same with the samplers of this package, in one pass without an end."""

    def build_training_data_loader(self) -> Any:
        shuffled = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(range(27)), 4, False)
        sampler = samplers.SkipBatchSampler(
            samplers.RepeatBatchSampler(shuffled), self.context.get_initial_batch(), same_length=True
        )
        return torch.utils.data.DataLoader(Points(27, noise=True), batch_sampler=sampler)


class PointsInAStream(torch.utils.data.IterableDataset[Any]):
    """Shuffled by the global generator; the first pass begins in its middle."""

    def __init__(self, count: int, skip: int) -> None:
        self.points, self.skip = Points(count), skip

    def __iter__(self) -> Any:
        order = torch.randperm(len(self.points)).tolist()
        skip, self.skip = self.skip, 0
        return (self.points[index] for index in order[skip:])

    def __len__(self) -> int:
        return len(self.points)


class StreamTrial(PlainLoaderTrial):
    """An iterable data set that finds its place by itself."""

    def build_training_data_loader(self) -> Any:
        skip = self.context.get_initial_batch() % 7 * 4
        return torch.utils.data.DataLoader(PointsInAStream(28, skip), batch_size=4)


class GeneratorLoaderTrial(PlainLoaderTrial):
    """A loader of somebody else's that wraps PyTorch's."""

    noise = False

    def build_training_data_loader(self) -> Any:
        return _Wrapped(super().build_training_data_loader())


class _Wrapped:
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Any:
        yield from self.loader
