"""Tells two spirals apart: a small network as a PyTorchTrial.

The platform calls these methods. It moves batches to the right device, trains, validates, saves checkpoints and
resumes; there is no loop to write.
"""

import math

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial


def spirals(points: int, seed: int) -> torch.utils.data.TensorDataset:
    """Replace this by your own data set."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.arange(points) % 2
    turn = 3 * math.pi * torch.rand(points, generator=generator).sqrt()
    angle = turn + math.pi * label
    place = torch.stack([turn * angle.cos(), turn * angle.sin()], dim=1) / 10
    return torch.utils.data.TensorDataset(place + 0.02 * torch.randn(points, 2, generator=generator), label)


class SpiralTrial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        width = context.get_hparam("width")
        layers = [nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)]
        self.model = context.wrap_model(nn.Sequential(*layers))
        adam = torch.optim.Adam(self.model.parameters(), lr=context.get_hparam("learning_rate"))
        self.optimizer = context.wrap_optimizer(adam)

    def build_training_data_loader(self):
        return DataLoader(spirals(4000, seed=1), batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self):
        return DataLoader(spirals(1000, seed=2), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch, epoch_idx, batch_idx):
        points, labels = batch
        loss = nn.functional.cross_entropy(self.model(points), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        points, labels = batch
        scores = self.model(points)
        return {
            "validation_loss": nn.functional.cross_entropy(scores, labels),
            "accuracy": (scores.argmax(1) == labels).float().mean(),
        }
