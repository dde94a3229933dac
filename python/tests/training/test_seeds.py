"""The code that the documents show runs in its own words."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Sequence, Tuple, Union, cast  # noqa: UP035

import numpy as np
import pytest
import torch
from harness import Run, train
from torch import nn
from trials import Points

import determined
import determined as det
from determined import pytorch
from determined.pytorch import (
    DataLoader,
    LRScheduler,
    PyTorchCallback,
    PyTorchTrial,
    PyTorchTrialContext,
    Reducer,
    reset_parameters,
)

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]  # noqa: UP006, UP007


def error_rate(predictions: torch.Tensor, labels: torch.Tensor) -> float:
    matches = predictions.argmax(1) == labels.to(torch.long)
    return 1.0 - float(matches.sum()) / predictions.shape[0]


class Flatten(nn.Module):
    def forward(self, *args: Any) -> Any:
        return args[0].contiguous().view(args[0].size(0), -1)


class MNISTTrial(PyTorchTrial):
    """The tutorial's trial: its functions as the tutorial prints them, on pictures of noise."""

    def __init__(self, context: det.TrialContext):
        # required: store the TrialContext for later use
        self.context = context

    def build_training_data_loader(self):
        train_data = torch.utils.data.TensorDataset(torch.randn(128, 1, 28, 28), torch.randint(0, 10, (128,)))
        batch_size = self.context.get_per_slot_batch_size()
        return DataLoader(train_data, batch_size=batch_size)

    build_validation_data_loader = build_training_data_loader

    def build_model(self):
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
        )  # fmt: skip

        reset_parameters(model)
        return model

    def optimizer(self, model: nn.Module):
        return torch.optim.SGD(
            model.parameters(), lr=self.context.get_hparam("learning_rate"), momentum=0.9
        )  # fmt: skip

    def train_batch(self, batch: TorchData, model: nn.Module, epoch_idx: int, batch_idx: int):
        batch = cast(Tuple[torch.Tensor, torch.Tensor], batch)  # noqa: UP006
        data, labels = batch

        output = model(data)
        loss = torch.nn.functional.nll_loss(output, labels)
        error = error_rate(output, labels)

        return {"loss": loss, "train_error": error}

    def evaluate_batch(self, batch: TorchData, model: nn.Module):
        batch = cast(Tuple[torch.Tensor, torch.Tensor], batch)  # noqa: UP006
        data, labels = batch

        output = model(data)
        error = error_rate(output, labels)

        return {"validation_error": error}


MNIST = {
    "hyperparameters": {
        "learning_rate": 0.001,
        "dropout": 0.5,
        "global_batch_size": 64,
        "n_filters1": 4,
        "n_filters2": 4,
    },
    "searcher": {"metric": "validation_error"},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_tutorials_trial_trains(tmp_path: pathlib.Path) -> None:
    run = train(MNISTTrial, tmp_path, 3, config=MNIST)
    averages = run.numbers()[("training", 3)]["avg_metrics"]
    assert set(averages) == {"loss", "train_error"}
    assert 0 <= run.numbers()[("validation", 3)]["validation_error"] <= 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_classic_reference_holds(tmp_path: pathlib.Path) -> None:
    class Reference(MNISTTrial):
        def __init__(self, trial_context: Any) -> None:
            super().__init__(trial_context)

        def create_lr_scheduler(self, optimizer: torch.optim.Optimizer) -> Any:
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            return LRScheduler(scheduler, step_mode=LRScheduler.StepMode.STEP_EVERY_BATCH)

        def evaluation_reducer(self) -> Any:
            return {"validation_error": det.pytorch.Reducer.MAX}

    run = train(Reference, tmp_path, 2, config=MNIST)
    assert run.trial.context.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.00001)
    assert issubclass(PyTorchTrial.trial_context_class, det.TrialContext)
    assert determined.pytorch._reducer.Reducer is Reducer
    assert determined.pytorch._data.DataLoader is DataLoader
    assert determined.pytorch._lr_scheduler.LRScheduler is LRScheduler
    assert determined._train_context.TrialContext is det.TrialContext


@pytest.mark.parametrize(
    "structure",
    [
        np.array([[0, 0], [0, 0]]),
        torch.Tensor([[0, 0], [0, 0]]),
        (torch.Tensor([0, 0]), torch.Tensor([[0, 0], [0, 0]])),
        [torch.Tensor([0, 0]), torch.Tensor([[0, 0], [0, 0]])],
        {"data": torch.Tensor([[0, 0], [0, 0]]), "label": torch.Tensor([[1, 1], [1, 1]])},
        {
            "data": [
                {"sub_data1": torch.Tensor([[0, 0], [0, 0]])},
                {"sub_data2": torch.Tensor([0, 0])},
            ],
            "label": (torch.Tensor([0, 0]), torch.Tensor([[0, 0], [0, 0]])),
        },
    ],
)
def test_batches_of_every_documented_structure_reach_the_trial(structure: Any, tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []

    class Structured(PyTorchTrial):
        def __init__(self, context: PyTorchTrialContext) -> None:
            self.context = context
            self.model = context.wrap_model(nn.Linear(1, 1))
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=1))

        def build_training_data_loader(self) -> DataLoader:
            return DataLoader([0, 0], batch_size=2, collate_fn=lambda records: structure)

        build_validation_data_loader = build_training_data_loader

        def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:  # noqa: UP006
            seen.append(batch)
            return {}

        def evaluate_batch(self, batch: TorchData) -> Dict[str, Any]:  # noqa: UP006
            return {"val_loss": 0}

    train(Structured, tmp_path, 1)

    def same(got: Any, given: Any) -> bool:
        if isinstance(given, dict):
            return set(got) == set(given) and all(same(got[key], given[key]) for key in given)
        if isinstance(given, (list, tuple)):
            return type(got) is type(given) and all(map(same, got, given))
        return isinstance(got, torch.Tensor) and torch.equal(got.float(), torch.as_tensor(given).float())

    assert same(seen[0], structure)


class GuideTrial(PyTorchTrial):
    """Put together from the snippets of the context generation's guide."""

    def __init__(self, context: PyTorchTrialContext):
        self.context = context
        self.download_directory = f"/tmp/data-rank{self.context.distributed.get_rank()}"
        self.model = self.context.wrap_model(nn.Linear(2, 2))
        self.criterion = nn.CrossEntropyLoss()

        optimizer = torch.optim.SGD(
            self.model.parameters(),
            self.context.get_hparam("lr"),
            momentum=self.context.get_hparam("momentum"),
            weight_decay=self.context.get_hparam("weight_decay"),
        )
        self.optimizer = self.context.wrap_optimizer(optimizer)

        lr_sch = torch.optim.lr_scheduler.StepLR(self.optimizer, gamma=0.1, step_size=2)
        self.lr_sch = self.context.wrap_lr_scheduler(lr_sch, step_mode=LRScheduler.StepMode.STEP_EVERY_EPOCH)

    def accuracy(self, output: torch.Tensor, target: torch.Tensor, topk: Any = (1,)) -> list[torch.Tensor]:
        _, predictions = output.topk(max(topk), 1)
        correct = predictions.t().eq(target.view(1, -1))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True) * 100 / len(target) for k in topk]

    def build_training_data_loader(self):
        train_loader = determined.pytorch.DataLoader(
            Points(28), batch_size=self.context.get_per_slot_batch_size(), shuffle=True, num_workers=self.context.get_hparam("workers"), pin_memory=True)  # noqa: E501 # fmt: skip
        return train_loader

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(12), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: pytorch.TorchData, epoch_idx: int, batch_idx: int):
        images, target = batch
        output = self.model(images)
        loss = self.criterion(output, target)
        acc1, acc5 = self.accuracy(output, target, topk=(1, 2))

        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)

        return {"loss": loss.item(), 'top1': acc1[0], 'top5': acc5[0]}  # fmt: skip

    def evaluate_batch(self, batch: TorchData) -> Dict[str, Any]:  # noqa: UP006
        images, target = batch
        return {"val_loss": self.criterion(self.model(images), target)}

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:  # noqa: UP006
        return {}


GUIDE = {"hyperparameters": {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "workers": 0}}


def test_the_guides_trial_trains(tmp_path: pathlib.Path) -> None:
    run = train(GuideTrial, tmp_path, 15, config=GUIDE)
    assert set(run.numbers()[("training", 15)]["avg_metrics"]) == {"loss", "top1", "top5"}
    assert run.trial.optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_a_scheduler_in_manual_mode_is_stepped_in_train_batch(tmp_path: pathlib.Path) -> None:
    class Manual(GuideTrial):
        def __init__(self, context: PyTorchTrialContext):
            super().__init__(context)
            self.manual = self.context.wrap_lr_scheduler(
                torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.5), LRScheduler.StepMode.MANUAL_STEP
            )

        def train_batch(self, batch: pytorch.TorchData, epoch_idx: int, batch_idx: int):
            metrics = super().train_batch(batch, epoch_idx, batch_idx)
            self.manual.step()
            return metrics

    assert train(Manual, tmp_path, 3, config=GUIDE).trial.optimizer.param_groups[0]["lr"] == pytest.approx(0.0125)


def test_the_guides_skeleton_is_a_class_of_the_context_generation(tmp_path: pathlib.Path) -> None:
    class MyTrial(PyTorchTrial):
        def __init__(self, context: PyTorchTrialContext) -> None:
            self.context = context

        def build_training_data_loader(self) -> DataLoader:
            return DataLoader()  # type: ignore[call-arg]

        def build_validation_data_loader(self) -> DataLoader:
            return DataLoader()  # type: ignore[call-arg]

        def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int)  -> Dict[str, Any]:  # noqa: UP006 # fmt: skip
            return {}

        def evaluate_batch(self, batch: TorchData) -> Dict[str, Any]:  # noqa: UP006
            return {}

    with pytest.raises(determined.errors.CheckFailedError, match=r"no call of context.wrap_model\(\)"):
        Run(MyTrial, tmp_path, lengths=[1])
