"""Schedulers, reducers, callbacks and ways to evaluate, all that can be chosen; ../parts_cxx is its twin."""

import torch
from torch import nn

from determined.pytorch import DataLoader, LRScheduler, MetricReducer, PyTorchCallback, PyTorchTrial, Reducer


class Seen(MetricReducer):
    """The sum of all targets that all slots saw, and the largest of each slot's."""

    def reset(self):
        self.sum, self.largest = 0.0, 0.0

    def update(self, target):
        self.sum += float(target.sum())
        self.largest = max(self.largest, float(target.max()))

    def per_slot_reduce(self):
        return [self.sum, self.largest]

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(slot[0] for slot in per_slot_metrics) + 1000 * max(slot[1] for slot in per_slot_metrics)


class Heard(PyTorchCallback):
    """Keeps in checkpoints which hooks were called, in their order."""

    def __init__(self):
        self.hooks = []

    def on_trial_startup(self, first_batch_idx, checkpoint_uuid):
        self.hooks.append(f"trial_startup {first_batch_idx}")

    def on_training_start(self):
        self.hooks.append("training_start")

    def on_training_epoch_start(self, epoch_idx):
        self.hooks.append(f"training_epoch_start {epoch_idx}")

    def on_training_epoch_end(self, epoch_idx):
        self.hooks.append(f"training_epoch_end {epoch_idx}")

    def on_training_workload_end(self, avg_metrics, batch_metrics):
        self.hooks.append(f"training_workload_end {len(batch_metrics)}")

    def on_validation_start(self):
        self.hooks.append("validation_start")

    def on_validation_epoch_start(self):
        self.hooks.append("validation_epoch_start")

    def on_validation_epoch_end(self, outputs):
        self.hooks.append(f"validation_epoch_end {len(outputs)}")

    def on_validation_end(self, metrics):
        self.hooks.append("validation_end")

    def on_checkpoint_save_start(self, checkpoint):
        self.hooks.append("checkpoint_save_start")

    def on_checkpoint_write_end(self, checkpoint_dir):
        self.hooks.append("checkpoint_write_end")

    def state_dict(self):
        return {"hooks": list(self.hooks)}

    def load_state_dict(self, state_dict):
        self.hooks = list(state_dict["hooks"])


class _Trial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
        mode, frequency = context.get_hparam("steps").split()
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 1 / (1 + step)),
            LRScheduler.StepMode[mode],
            frequency=int(frequency),
        )
        self.manual = mode == "MANUAL_STEP"
        self.seen = context.wrap_reducer(Seen(), "seen")

    def build_callbacks(self):
        return {"heard": Heard()}

    def evaluation_reducer(self):
        return {"sum": Reducer.SUM, "least": Reducer.MIN, "greatest": Reducer.MAX, "validation_loss": Reducer.AVG}

    def data(self, records, **options):
        inputs = torch.arange(records * 5, dtype=torch.float32).reshape(records, 5).sin()
        data = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))
        return DataLoader(data, batch_size=self.context.get_per_slot_batch_size(), **options)

    def build_training_data_loader(self):
        return self.data(46, shuffle=True, drop_last=True)

    def build_validation_data_loader(self):
        return self.data(22)

    def loss(self, batch):
        return nn.functional.mse_loss(self.model(batch[0]), batch[1])

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        if self.manual and batch_idx % 4 == 3:
            self.scheduler.step()
        self.seen.update(batch[1])
        return {"loss": loss, "rate": self.optimizer.param_groups[0]["lr"], "epoch": epoch_idx}


class PartsTrial(_Trial):
    def evaluate_batch(self, batch):
        self.seen.update(batch[1])
        loss = self.loss(batch)
        return {"sum": loss, "least": loss, "greatest": loss, "validation_loss": loss}


class WholeTrial(_Trial):
    """Evaluates the whole set in one call."""

    def evaluate_full_dataset(self, data_loader):
        losses = [float(self.loss(batch)) for batch in data_loader]
        return {"validation_loss": sum(losses), "batches": len(losses)}
