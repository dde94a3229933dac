"""A true multi-input multi-output model: the two halves of a picture in, two answers out."""

from typing import Any, Dict, Tuple, cast

import torch
from data import Garments, collate
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial, PyTorchTrialContext, reset_parameters


class TwoHalves(nn.Module):
    """One tower for each half of shape [n, 1, 14, 28]; scores of shapes [n, 10] and [n, 4]."""

    def __init__(self, filters: int, dropout: float) -> None:
        super().__init__()
        self.towers = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(1, filters, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Dropout2d(dropout),
                nn.Flatten(),
            )
            for _ in range(2)
        )
        self.body = nn.Sequential(nn.Linear(2 * filters * 7 * 14, 128), nn.ReLU(), nn.Dropout(dropout))
        self.kind = nn.Linear(128, 10)
        self.purpose = nn.Linear(128, 4)

    def forward(self, halves: Tuple[torch.Tensor, torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor]:
        seen = [tower(half) for tower, half in zip(self.towers, halves)]
        body = self.body(torch.cat(seen, 1))
        return self.kind(body), self.purpose(body)


class MultiMNistTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context

    def build_model(self) -> nn.Module:
        model = TwoHalves(self.context.get_hparam("n_filters"), self.context.get_hparam("dropout"))
        reset_parameters(model)
        return model

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.SGD(model.parameters(), lr=self.context.get_hparam("learning_rate"), momentum=0.9)

    def build_training_data_loader(self) -> DataLoader:
        dataset = Garments(self.context.get_data_config()["directory"], "train")
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size(), collate_fn=collate)

    def build_validation_data_loader(self) -> DataLoader:
        dataset = Garments(self.context.get_data_config()["directory"], "t10k")
        return DataLoader(dataset, batch_size=self.context.get_per_slot_batch_size(), collate_fn=collate)

    def train_batch(self, batch: Any, model: nn.Module, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        labels = cast(Dict[str, torch.Tensor], batch["labels"])
        kind, purpose = model(batch["halves"])
        loss_kind = nn.functional.cross_entropy(kind, labels["kind"])
        loss_purpose = nn.functional.cross_entropy(purpose, labels["purpose"])
        return {"loss": loss_kind + loss_purpose, "loss_kind": loss_kind, "loss_purpose": loss_purpose}

    def evaluate_batch(self, batch: Any, model: nn.Module) -> Dict[str, Any]:
        labels = cast(Dict[str, torch.Tensor], batch["labels"])
        kind, purpose = model(batch["halves"])
        return {
            "kind_error": (kind.argmax(1) != labels["kind"]).float().mean(),
            "purpose_error": (purpose.argmax(1) != labels["purpose"]).float().mean(),
        }
