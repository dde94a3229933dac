"""What trials of both generations are told when they break a rule."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from harness import train
from torch import nn
from trials import ClassicTrial, ContextTrial, Points

from determined.common.check import CheckFailedError
from determined.pytorch import (
    ClipGradsL2Norm,
    DataLoader,
    PyTorchTrial,
)


def refused(methods: dict[str, Any], *bases: type) -> type:
    return type("Refused", bases or (ContextTrial,), methods)


def build_model(self: Any) -> nn.Module:
    return nn.Linear(2, 2)


def optimizer(self: Any, model: nn.Module) -> Any:
    return torch.optim.SGD(model.parameters(), lr=1)


def train_with_model(self: Any, batch: Any, model: Any, epoch_idx: int, batch_idx: int) -> Any:
    return {"loss": model(batch[0]).sum()}


def train_without_model(self: Any, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
    return {}


def nothing(self: Any, *arguments: Any) -> None:
    return None


REFUSED = {
    "both evaluate methods": (
        refused({"evaluate_full_dataset": lambda self, data_loader: {}}),
        "both of evaluate_batch",
    ),
    "no evaluate method": (
        refused(
            {
                "build_training_data_loader": nothing,
                "build_validation_data_loader": nothing,
                "train_batch": train_without_model,
            },
            PyTorchTrial,
        ),
        "neither of evaluate_batch",
    ),
    "no optimizer method": (refused({"build_model": build_model}, ContextTrial), "without optimizer"),
    "no build_model method": (refused({"optimizer": optimizer}, ContextTrial), "without build_model"),
    "classic without model": (
        refused({"train_batch": train_without_model}, ClassicTrial),
        "without the parameter model",
    ),
    "context with model": (refused({"train_batch": train_with_model}), "with the parameter model"),
    "both ways": (
        refused({"build_model": build_model, "optimizer": optimizer, "train_batch": train_with_model}),
        "build_model.. and with wrapped",
    ),
    "nothing wrapped": (refused({"__init__": nothing}), r"no call of context.wrap_model"),
    "no model": (refused({"build_model": nothing}, ClassicTrial), "result of Refused.build_model"),
    "no optimizer": (refused({"optimizer": nothing}, ClassicTrial), "result of Refused.optimizer"),
    "no scheduler": (
        refused({"create_lr_scheduler": lambda self, optimizer: optimizer}, ClassicTrial),
        "result of Refused.create_lr_scheduler",
    ),
    "callbacks that are no dict": (refused({"build_callbacks": lambda self: []}), "result of Refused.build_callbacks"),
    "no loss": (
        refused({"train_batch": lambda self, batch, model, epoch_idx, batch_idx: {"error": 1.0}}, ClassicTrial),
        "the key 'loss'",
    ),
    "a number for a loss": (
        refused({"train_batch": lambda self, batch, model, epoch_idx, batch_idx: {"loss": 0.5}}, ClassicTrial),
        r"Got 0.5 .type float., expected a tensor that has a gradient: the loss of Refused.train_batch\(\)",
    ),
    "the class of a callback": (
        refused({"build_callbacks": lambda self: {"clip": ClipGradsL2Norm}}),
        r"Got the class ClipGradsL2Norm, expected an instance of it: Refused.build_callbacks\(\)\['clip'\]",
    ),
    "what is no callback": (
        refused({"build_callbacks": lambda self: {"clip": print}}),
        r"expected a PyTorchCallback: Refused.build_callbacks\(\)\['clip'\]",
    ),
    "metrics that change, not all with text for a name": (
        refused({"train_batch": lambda self, batch, epoch_idx, batch_idx: {"a": 1.0, batch_idx: 1.0}}),
        r"the metrics \[1, 'a'\] at batch 1",
    ),
    "a number of records that is none": (
        refused({"get_batch_length": lambda self, batch: None}),
        r"Got None .type NoneType., expected a whole number: result of Refused.get_batch_length\(\)",
    ),
    "text for a result": (
        refused({"train_batch": lambda self, batch, model, epoch_idx, batch_idx: "text"}, ClassicTrial),
        "Got a str, expected a tensor or a dict",
    ),
    "text for a result of the context generation": (
        refused({"train_batch": lambda self, batch, epoch_idx, batch_idx: "text"}),
        "Got a str, expected a dict or a tensor",
    ),
    "no dict from evaluate_batch": (
        refused({"evaluate_batch": lambda self, batch: 1.0}),
        "Got a float, expected a dict",
    ),
    "metrics that change": (
        refused({"train_batch": lambda self, batch, epoch_idx, batch_idx: {f"m{batch_idx}": 1.0}}),
        "at batch 1",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_trial_that_breaks_a_rule_is_told_which(why: str, tmp_path: pathlib.Path) -> None:
    kind, text = REFUSED[why]
    with pytest.raises(CheckFailedError, match=text) as caught:
        train(kind, tmp_path, 2)
    assert str(caught.value).startswith("CHECK FAILED!")


def test_a_missing_method_is_named(tmp_path: pathlib.Path) -> None:
    kind = type("Half", (PyTorchTrial,), {"evaluate_batch": nothing})
    with pytest.raises((CheckFailedError, TypeError), match="train_batch"):
        train(kind, tmp_path, 1)


def test_hyperparameters_that_moved_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CheckFailedError, match="section optimizations"):
        train(ContextTrial, tmp_path, 1, config={"hyperparameters": {"aggregation_frequency": 2}})


def test_gradients_cannot_be_kept_with_aggregation(tmp_path: pathlib.Path) -> None:
    class Keeping(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            self.context.step_optimizer(self.optimizer, auto_zero_grads=False)
            return {}

    train(Keeping, tmp_path, 1)
    with pytest.raises(CheckFailedError, match="aggregation_frequency is 2"):
        train(Keeping, tmp_path, 1, config={"optimizations": {"aggregation_frequency": 2}})


def test_another_loader_is_refused_unless_the_trial_takes_care_of_it(tmp_path: pathlib.Path) -> None:
    class Foreign(ContextTrial):
        def build_training_data_loader(self) -> DataLoader:
            return torch.utils.data.DataLoader(Points(8), batch_size=4)  # type: ignore[return-value]

    class Knowing(Foreign):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.experimental.disable_dataset_reproducibility_checks()

    with pytest.raises(RuntimeError, match="disable_dataset_reproducibility_checks"):
        train(Foreign, tmp_path, 1)
    assert ("training", 5) in train(Knowing, tmp_path, 5).numbers()


def test_mixed_precision_needs_a_gpu_and_says_so(tmp_path: pathlib.Path) -> None:
    class Amp(ContextTrial):
        def __init__(self, context: Any) -> None:
            context.experimental.use_amp()

    class Apex(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.configure_apex_amp(self.model, self.optimizer, opt_level=context.get_hparam("level"))

    with pytest.raises(CheckFailedError, match="needs a GPU"):
        train(Amp, tmp_path, 1)
    with pytest.raises(CheckFailedError, match="needs a GPU"):
        train(Apex, tmp_path, 1, config={"hyperparameters": {"level": "O1"}})
    train(Apex, tmp_path, 1, config={"hyperparameters": {"level": "O0"}})
