"""One small model and many optimizers; ../optimizers_cxx is its twin."""

import torch
from torch import nn

from determined.pytorch import DataLoader, LRScheduler, PyTorchTrial


def make(name, parameters):
    kind, _, more = name.partition(", ")
    kernel = {more: True} if more in ("foreach", "fused") else {}
    if kind == "sgd":
        decay = {"nesterov": True, "weight_decay": 0.01} if "nesterov" in more else {}
        return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, **decay, **kernel)
    if kind in ("adam", "adamw"):
        chosen = torch.optim.Adam if kind == "adam" else torch.optim.AdamW
        decay = {"weight_decay": 0.03} if more == "decay" else {}
        return chosen(parameters, lr=0.01, betas=(0.8, 0.95), amsgrad=more == "amsgrad", **decay, **kernel)
    if kind == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=0.01, momentum=0.5)
    return torch.optim.Adagrad(parameters, lr=0.05)


class OptimizersTrial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Sequential(nn.Linear(13, 37), nn.Tanh(), nn.Linear(37, 3)))
        self.optimizer = context.wrap_optimizer(make(context.get_hparam("optimizer"), self.model.parameters()))
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.7), LRScheduler.StepMode.STEP_EVERY_EPOCH
        )

    def data(self, shuffle):
        inputs = torch.arange(60 * 13, dtype=torch.float32).reshape(60, 13).sin()
        labels = inputs.sum(1).gt(0).long() + inputs[:, 0].gt(0.5).long()
        data = torch.utils.data.TensorDataset(inputs, labels)
        return DataLoader(data, batch_size=self.context.get_per_slot_batch_size(), shuffle=shuffle)

    def build_training_data_loader(self):
        return self.data(True)

    def build_validation_data_loader(self):
        return self.data(False)

    def loss(self, batch):
        return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(
            self.optimizer, clip_grads=lambda parameters: nn.utils.clip_grad_norm_(parameters, 0.5)
        )
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"validation_loss": self.loss(batch)}
