"""A trial without global_batch_size, for scripts that build it themselves."""

import time

import torch
from torch import nn

from determined.pytorch import DataLoader, PyTorchTrial


class LineTrial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.seconds = context.get_hparams().get("seconds", 0.0)
        self.model = context.wrap_model(nn.Sequential(nn.Linear(1, 4), nn.Dropout(0.2), nn.Linear(4, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9))

    def data(self):
        x = torch.linspace(-1, 1, 64).unsqueeze(1)
        return torch.utils.data.TensorDataset(x, 3 * x + 1)

    def build_training_data_loader(self):
        return DataLoader(self.data(), batch_size=4, shuffle=True)

    def build_validation_data_loader(self):
        return DataLoader(self.data(), batch_size=16)

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        time.sleep(self.seconds)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"loss": nn.functional.mse_loss(self.model(x), y)}
