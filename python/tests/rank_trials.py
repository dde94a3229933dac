"""A model definition for the tests of several ranks; they write it down as model_def.py."""

import copy
import os
import random
import signal
import time
from typing import Any

import numpy as np
import torch
from torch import nn

import determined as det
from determined.pytorch import DataLoader, LRScheduler, PyTorchCallback, PyTorchTrial, Reducer, _gradients


class Points(torch.utils.data.Dataset):
    def __init__(self, count: int, noise: bool = False) -> None:
        self.inputs = torch.randn(count, 2, generator=torch.Generator().manual_seed(count))
        self.labels = (self.inputs.sum(1) > 0).long()
        self.noise = noise

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> Any:
        point = self.inputs[index]
        return (point + 0.1 * torch.rand(2) + float(np.random.rand()) if self.noise else point), self.labels[index]


def checksum(models: Any) -> float:
    return float(sum(t.double().abs().sum() for m in models for t in m.state_dict().values()))


class Counting(PyTorchCallback):
    """State that differs between ranks and changes what they train."""

    def __init__(self, rank: int) -> None:
        self.drawn = [float(rank)]

    def on_training_workload_end(self, avg_metrics: Any, batch_metrics: Any) -> None:
        self.drawn.append(random.random())

    def state_dict(self) -> Any:
        return {"drawn": self.drawn}

    def load_state_dict(self, state: Any) -> None:
        self.drawn = state["drawn"]


class RankTrial(PyTorchTrial):
    def __init__(self, context: Any) -> None:
        self.context = context
        ranks = context.distributed
        self.rank = ranks.get_rank()
        print(f"rank {self.rank} sees {ranks.get_size()} ranks on {ranks.get_num_agents()} machine(s)")
        local = (ranks.allgather_local(self.rank), ranks.gather_local(self.rank), ranks.broadcast_local(self.rank))
        print("on its machine", *local)
        print("threads", torch.get_num_threads())
        self.hparams = context.get_hparams()
        _gradients.BUCKET_BYTES = self.hparams.get("bucket_bytes", 25 << 20)
        if self.hparams.get("impossible"):
            raise det.InvalidHP("no such thing")
        self.noisy = self.hparams.get("noisy", False)
        wide = self.hparams.get("wide", 8) + (self.rank if self.hparams.get("differ") else 0)
        layers = [nn.Linear(2, wide), nn.ReLU(), nn.Linear(wide, 2)]
        if self.noisy:
            layers[1:1] = [nn.BatchNorm1d(wide), nn.Dropout(0.3)]
        self.model = context.wrap_model(nn.Sequential(*layers))
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.01))
        if self.noisy:
            torch.manual_seed(1000 + self.rank)  # every rank its own dropout
        self.counting = Counting(self.rank)
        self.values = context.wrap_reducer(lambda values: ",".join(map(str, values)), "all", for_training=False)

    def build_callbacks(self) -> Any:
        return {"counting": self.counting}

    def build_training_data_loader(self) -> DataLoader:
        size = self.context.get_per_slot_batch_size()
        return DataLoader(Points(96, self.noisy), batch_size=size, shuffle=self.noisy)

    def build_validation_data_loader(self) -> DataLoader:
        if self.hparams.get("uneven"):
            return DataLoader(Points(9), batch_size=2)
        return DataLoader(Points(24), batch_size=12 // self.context.distributed.get_size())

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        print(f"batch {batch_idx} first {float(inputs[0, 0])}")
        if batch_idx == 6:
            self.misbehave()
        if self.hparams.get("stop_rank") == self.rank and batch_idx == 5:
            self.context.set_stop_requested(True)
        output = self.model(inputs)
        if self.noisy:
            output = output + 0.01 * sum(self.counting.drawn) + 0.01 * random.random()
        loss = nn.functional.cross_entropy(output, labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, clip_grads=lambda p: nn.utils.clip_grad_norm_(p, 0.5))
        return {"loss": loss, "mine": self.rank}

    def misbehave(self) -> None:
        if self.hparams.get("fail_rank") in (self.rank, -1):
            raise ArithmeticError(f"so it goes on rank {self.rank}")
        if self.hparams.get("kill_rank") == self.rank:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.hparams.get("hang_rank") == self.rank:
            sleep_for_ever()

    def evaluation_reducer(self) -> Any:
        kinds = {"avg": Reducer.AVG, "sum": Reducer.SUM, "max": Reducer.MAX, "min": Reducer.MIN}
        return {**kinds, "val_loss": Reducer.AVG, "ranks_agree": Reducer.MIN}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Any:
        inputs, labels = batch
        number = batch_idx * self.context.distributed.get_size() + self.rank
        self.values.update(number)
        return {
            "val_loss": nn.functional.cross_entropy(self.model(inputs), labels),
            "ranks_agree": self.agree() if batch_idx == 0 else 1.0,
            **dict.fromkeys(("avg", "sum", "max", "min"), float(number)),
        }

    def agree(self) -> float:
        sums = self.context.distributed.allgather(checksum(self.context.models))
        return float(all(one == sums[0] for one in sums))


def sleep_for_ever() -> None:
    while True:
        time.sleep(1)


class ClassicRankTrial(PyTorchTrial):
    def __init__(self, trial_context: Any) -> None:
        self.context = trial_context

    def build_model(self) -> Any:
        return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))

    def optimizer(self, model: Any) -> Any:
        return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Points(99), batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(24), batch_size=self.context.get_per_slot_batch_size())

    def train_batch(self, batch: Any, model: Any, epoch_idx: int, batch_idx: int) -> Any:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])

    def evaluate_batch(self, batch: Any, model: Any) -> Any:
        return {"val_loss": nn.functional.cross_entropy(model(batch[0]), batch[1])}


class Told(PyTorchCallback):
    def on_validation_end(self, metrics: Any) -> None:
        print(f"validation ended with batches={metrics['batches']}")


class WholeSetTrial(RankTrial):
    evaluate_batch = PyTorchTrial.evaluate_batch

    def build_callbacks(self) -> Any:
        return {"told": Told()}

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        context.reducers._wrapped.clear()

    def build_validation_data_loader(self) -> DataLoader:
        return DataLoader(Points(10), batch_size=2)

    def evaluate_full_dataset(self, data_loader: Any) -> Any:
        print("evaluates")
        return {"val_loss": 1.0, "batches": len(list(data_loader))}


class EpochTrial(RankTrial):
    """Epochs of five batches, so that rank 0 has three of the first and rank 1 two; each changes the learning rate."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.1)
        context.wrap_lr_scheduler(scheduler, LRScheduler.StepMode.STEP_EVERY_EPOCH)

    def build_training_data_loader(self) -> DataLoader:
        return DataLoader(Points(30), batch_size=self.context.get_per_slot_batch_size())


class TwinTrial(RankTrial):
    """Trains a twin under DistributedDataParallel beside its model."""

    def build_callbacks(self) -> Any:
        self.twin = torch.nn.parallel.DistributedDataParallel(copy.deepcopy(self.model))
        self.twins = torch.optim.Adam(self.twin.parameters(), lr=0.01)
        return {}

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        nn.functional.cross_entropy(self.twin(inputs), labels).backward()
        self.twins.step()
        self.twins.zero_grad()
        for mine, theirs in zip(self.model.parameters(), self.twin.parameters(), strict=True):
            assert torch.equal(mine, theirs), f"batch {batch_idx}"
        return {"loss": loss}


class OddTrial(RankTrial):
    """Two optimizers, parts of a model called by themselves, several backward passes, parameters without gradients."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.other = context.wrap_model(
            nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2), "c": nn.Linear(2, 2)})
        )
        self.sgd = context.wrap_optimizer(
            torch.optim.SGD(self.other.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
        )

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        hidden = self.model[0](inputs)
        first = nn.functional.cross_entropy(self.model[2](self.model[1](hidden)), labels)
        self.context.backward(first, retain_graph=True)
        self.context.backward(hidden.pow(2).mean())
        self.context.step_optimizer(self.optimizer)
        # Which part is used depends on batch and rank: some parameters have a gradient on one rank, on both, on none.
        part = "a" if (batch_idx + self.rank) % 2 else "b"
        self.context.backward(nn.functional.cross_entropy(self.other[part](inputs), labels))
        self.sgd.step() if batch_idx % 2 else self.context.step_optimizer(self.sgd)
        self.sgd.zero_grad()
        assert self.other["c"].weight not in self.sgd.state
        return {"loss": first}


class ClosureTrial(RankTrial):
    """An optimizer that asks for loss and gradients several times a step, and decides by them."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        parameters = self.model.parameters()
        self.lbfgs = context.wrap_optimizer(torch.optim.LBFGS(parameters, max_iter=4, line_search_fn="strong_wolfe"))

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch

        def closure() -> torch.Tensor:
            self.lbfgs.zero_grad()
            loss = nn.functional.cross_entropy(self.model(inputs), labels)
            self.context.backward(loss)
            return loss

        loss = self.lbfgs.step(closure)
        assert len(set(self.context.distributed.allgather(float(loss)))) == 1
        return {"loss": loss}


class ScalerTrial(RankTrial):
    """Scales by hand; at one batch the gradients of one rank overflow."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        context.scaler = self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        if batch_idx == 3 and self.rank == 1:
            loss = loss * float("inf")
        before = checksum(self.context.models)
        self.context.backward(self.scaler.scale(loss))
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.context.step_optimizer(self.optimizer, scaler=self.scaler)
        self.scaler.update()
        assert (checksum(self.context.models) == before) == (batch_idx == 3)
        assert batch_idx == 3 or len(set(self.context.distributed.allgather(float(norm)))) == 1
        return {"loss": 0.0}


class Noting(PyTorchCallback):
    """Says which of its hooks are called."""


def noting(name: str) -> Any:
    return lambda self, *arguments: print("hook", name)


for hook in [name for name in vars(PyTorchCallback) if name.startswith("on_")]:
    setattr(Noting, hook, noting(hook))


class HookTrial(RankTrial):
    def build_callbacks(self) -> Any:
        return {"noting": Noting()}
