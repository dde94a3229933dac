"""The context of PyTorch trials."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import nn

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._train_context import TrialContext
from determined.common import check
from determined.errors import InternalException, InvalidExperimentException
from determined.pytorch import _device, _gradients, _mixed_precision
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._lr_scheduler import LRScheduler, StepMode
from determined.pytorch._metric_reducer import MetricReducers

logger = logging.getLogger("determined.pytorch")

Model = TypeVar("Model", bound=nn.Module)
Optimizer = TypeVar("Optimizer", bound=torch.optim.Optimizer)
Scheduler = TypeVar("Scheduler")


def check_loss(loss: Any, where: str) -> None:
    """Raises if no gradients can be computed from a loss."""
    if isinstance(loss, torch.Tensor):
        if not loss.requires_grad:
            check.fail("a tensor with requires_grad False", "a tensor that has a gradient", where)
    elif not isinstance(loss, (list, tuple)):  # of several losses PyTorch takes a sequence
        check.fail(f"{loss!r} (type {type(loss).__name__})", "a tensor that has a gradient", where)


class PyTorchTrialContext(TrialContext):
    """Registers models, optimizers and schedulers, so that they are moved to the device, distributed, saved and
    restored.

    Example::

        def __init__(self, context):
            self.context = context
            self.model = context.wrap_model(Net())
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        def train_batch(self, batch, epoch_idx, batch_idx):
            loss = self.model(batch).mean()
            self.context.backward(loss)
            self.context.step_optimizer(self.optimizer)
            return {"loss": loss}
    """

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        super().__init__(env, distributed)
        config = env.experiment_config
        self.models: list[nn.Module] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.lr_schedulers: list[LRScheduler] = []
        self._unwrapped: set[str] = set()
        self.device = self._choose_device()
        self.n_gpus = 1 if self.device.type == "cuda" else 0
        self.experimental = PyTorchExperimentalContext(self)
        self.reducers = MetricReducers()
        self.aggregation_frequency = config.get_aggregation_frequency()
        self.average_aggregated_gradients = config.average_aggregated_gradients()
        self.epoch_length: int | None = None
        self.epoch_ahead = 0  # batches, since the number of slots has changed
        self.batch_index: int | None = None
        self.scaler: Any = None
        self.automatic_amp = False
        self.auto_to_device = True
        self.reproducible_data = True
        self.profiler: Any = None
        self._apex_called = False
        self._tensorboard_writer: Any = None
        self._enable_tensorboard_logging = True
        self._scaler_stepped = False
        self._exchanges: dict[int, _gradients.GradientExchange] = {}
        self._averages: dict[int, bool] = {}  # of optimizers that differ from the configuration

    def _choose_device(self) -> torch.device:
        if not (self.env.managed_training and self.env.use_gpu and torch.cuda.is_available()):
            return torch.device("cpu")
        device = torch.device("cuda", self.distributed.get_local_rank() if self.distributed.get_size() > 1 else 0)
        torch.cuda.set_device(device)
        return device

    def wrap_model(self, model: Model) -> Model:
        """Registers a model and moves it to this slot's device. Use the returned model from then on."""
        check.is_instance(model, nn.Module, "wrap_model() takes a model")
        if self.env.managed_training:
            check.false(self._apex_called, "wrap_model() must come before configure_apex_amp()")
            model = model.to(self.device)
            if self.automatic_amp:
                _mixed_precision.autocast_forward(model, self.device.type)
        self.models.append(model)
        return model

    def wrap_optimizer(
        self,
        optimizer: Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: bool | None = None,
        average_aggregated_gradients: bool | None = None,
    ) -> Optimizer:
        """Registers an optimizer. Use the returned optimizer from then on.

        ``backward_passes_per_step`` is the number of calls of ``backward`` per step of this optimizer.
        ``fp16_compression`` and ``average_aggregated_gradients`` override, for this optimizer, ``gradient_compression``
        and ``average_aggregated_gradients`` of the section ``optimizations``.
        """
        check.is_instance(optimizer, torch.optim.Optimizer, "wrap_optimizer() takes an optimizer")
        check.gt_eq(backward_passes_per_step, 1, "backward_passes_per_step of wrap_optimizer()")
        if self.env.managed_training:
            check.false(self._apex_called, "wrap_optimizer() must come before configure_apex_amp()")
            if self.distributed.watch is not None:
                default = self.env.experiment_config.gradient_compression()
                self._exchange_gradients_of(optimizer, default if fp16_compression is None else fp16_compression)
        if average_aggregated_gradients is not None:
            self._averages[id(optimizer)] = average_aggregated_gradients
        self.optimizers.append(optimizer)
        return optimizer

    def _exchange_gradients_of(self, optimizer: torch.optim.Optimizer, compress: bool) -> None:
        exchange = _gradients.GradientExchange(
            optimizer,
            self.distributed.size,
            watch=self.distributed.watch,
            compress=compress,
        )
        self._exchanges[id(optimizer)] = exchange

        # A trial that steps the optimizer itself gets the gradients of all ranks, too.
        def before(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            closure = kwargs.get("closure", args[1] if len(args) > 1 else None)  # args[0] is the optimizer
            if closure is not None:
                return args[:1], {**kwargs, "closure": exchange.with_all_ranks(closure)}
            if not exchange.done:
                exchange.run()
            return None

        def after(*_: Any) -> None:
            exchange.done = False

        optimizer.register_step_pre_hook(before)
        optimizer.register_step_post_hook(after)

    def wrap_lr_scheduler(self, lr_scheduler: Scheduler, step_mode: StepMode, frequency: int = 1) -> Scheduler:
        """Registers a learning rate scheduler and sets when it steps. Returns the scheduler."""
        if isinstance(lr_scheduler, LRScheduler):
            check.fail(
                "an LRScheduler", "the scheduler of PyTorch inside it", "wrap_lr_scheduler() creates the LRScheduler"
            )
        self.register_lr_scheduler(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def register_lr_scheduler(self, wrapper: LRScheduler) -> None:
        inner = wrapper.scheduler
        if isinstance(inner, torch.optim.lr_scheduler.ReduceLROnPlateau) and (
            wrapper.step_mode is not StepMode.MANUAL_STEP
        ):
            raise InvalidExperimentException(
                "ReduceLROnPlateau needs a metric for its step; use LRScheduler.StepMode.MANUAL_STEP and call its "
                "step() yourself, for instance in on_validation_end() of a callback"
            )
        optimizer = getattr(inner, "optimizer", None)
        if optimizer is not None and not self._is_wrapped(optimizer):
            check.fail(
                "a scheduler for an optimizer that is not wrapped",
                "one for an optimizer that wrap_optimizer() returned",
                "wrap the optimizer first, and build the scheduler with the result",
            )
        self.lr_schedulers.append(wrapper)

    def wrap_scaler(self, scaler: Any) -> Any:
        """Registers a ``GradScaler``, so that it is saved and restored. The trial scales, unscales and updates."""
        if not self.env.managed_training:
            return scaler
        check.is_none(self.scaler, "wrap_scaler() may be called once")
        check.eq(len(self.models), 0, "wrap_scaler() must come before the first wrap_model()")
        check.eq(self.device.type, "cuda", "a GradScaler needs a GPU")
        self.scaler = scaler
        return scaler

    def wrap_reducer(
        self, reducer: Any, name: str | None = None, for_training: bool = True, for_validation: bool = True
    ) -> Any:
        """Registers a metric with a custom reduction.

        ``reducer`` is a :class:`MetricReducer`, or a function of the list of all values that were passed to the
        ``update`` method of the returned object. Without ``name`` it must return a dict of metrics.
        """
        return self.reducers.wrap(reducer, name, for_training, for_validation)

    def reset_reducers(self) -> None:
        """Resets all registered reducers. This happens automatically at every training report and every validation."""
        self.reducers.reset()

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Sets whether reports are written for TensorBoard and its files are stored. Call it in the trial's
        constructor.

        Raises:
            AssertionError: it is not a bool.
        """
        if not isinstance(enable_tensorboard_logging, bool):
            raise AssertionError(
                f"enable_tensorboard_logging is {enable_tensorboard_logging!r}; it must be True or False"
            )
        self._enable_tensorboard_logging = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        return self._enable_tensorboard_logging

    def get_tensorboard_writer(self) -> Any:
        """Returns a ``torch.utils.tensorboard.SummaryWriter`` for :meth:`get_tensorboard_path`, always the same one.

        Raises:
            ModuleNotFoundError: the package ``tensorboard`` is not installed.
        """
        if self._tensorboard_writer is None:
            from determined.tensorboard.metric_writers.pytorch import TorchWriter

            self._tensorboard_writer = TorchWriter().writer
        return self._tensorboard_writer

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Profiles the training with ``torch.profiler.profile``, which gets these arguments. Call it in the
        constructor.

        A step of its ``schedule`` is one training batch, counted from the first batch of each process. By default,
        traces are written to :meth:`get_tensorboard_path`.

        Example::

            context.set_profiler(schedule=torch.profiler.schedule(wait=10, warmup=1, active=3, repeat=1))
        """
        if self.env.managed_training:
            keep: Any = torch.profiler.tensorboard_trace_handler
            worker = f"rank{self.distributed.get_rank()}"
            kwargs.setdefault("on_trace_ready", keep(str(self.get_tensorboard_path()), worker))
            self.profiler = torch.profiler.profile(*args, **kwargs)

    def to_device(self, data: Any) -> Any:
        """Moves arrays and tensors, however nested, to this slot's device."""
        return _device.to_device(data, self.device)

    def backward(
        self,
        loss: torch.Tensor,
        gradient: torch.Tensor | None = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Computes gradients, like ``loss.backward()``."""
        check_loss(loss, "context.backward()")
        if self.automatic_amp:
            loss = self.scaler.scale(loss)
        torch.autograd.backward(loss, gradient, retain_graph, create_graph)
        if self._exchanges and self.scaler is not None and not self.automatic_amp and self.is_update_batch():
            for exchange in self._exchanges.values():  # whoever unscales and clips by hand does it before the step
                exchange.run()

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Callable[[Any], Any] | None = None,
        auto_zero_grads: bool = True,
        scaler: Any = None,
    ) -> None:
        """Steps an optimizer and sets its gradients to zero.

        With an ``optimizations.aggregation_frequency`` of k, it acts only on every k-th batch. ``clip_grads`` is called
        with the list of the optimizer's parameters just before the step.
        """
        if not self._is_wrapped(optimizer):
            self._note_unwrapped(optimizer)
        frequency = self.aggregation_frequency
        exchange = self._exchanges.get(id(optimizer))
        if frequency > 1:
            if not auto_zero_grads:
                check.fail(
                    "auto_zero_grads=False", "True", f"optimizations.aggregation_frequency is {frequency}, above 1"
                )
            if not self.is_update_batch():
                return
        if exchange is not None and not exchange.done:
            exchange.run()
        if frequency > 1 and self._averages.get(id(optimizer), self.average_aggregated_gradients):
            gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            if gradients:
                torch._foreach_div_(gradients, frequency)
        if clip_grads is not None:
            if self.automatic_amp:
                self.scaler.unscale_(optimizer)
            clip_grads([p for group in optimizer.param_groups for p in group["params"]])
        if self.automatic_amp and scaler is None:
            self.scaler.step(optimizer)
            self._scaler_stepped = True
        elif scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        if exchange is not None:
            exchange.done = False
        if auto_zero_grads:
            optimizer.zero_grad()

    def _is_wrapped(self, optimizer: object) -> bool:
        return any(optimizer is known for known in self.optimizers)

    def _note_unwrapped(self, optimizer: object) -> None:
        """Reports an unwrapped object. On several slots each would train with its own gradients; on one slot only its
        state is lost.
        """
        name = type(optimizer).__name__
        if self.distributed.size > 1:
            wanted = "an optimizer that wrap_optimizer() returned"
            check.fail(f"a {name} that is not wrapped", wanted, "context.step_optimizer() on several slots")
        if name not in self._unwrapped:
            self._unwrapped.add(name)
            logger.warning(
                "step_optimizer() got a %s that is not wrapped: its state is not in checkpoints; pass what "
                "wrap_optimizer() returned",
                name,
            )

    def is_update_batch(self) -> bool:
        """Whether optimizers step after the current batch."""
        if self.batch_index is None or not self.env.managed_training:
            return True
        return (self.batch_index + 1) % self.aggregation_frequency == 0

    def equalise(self) -> None:
        """Copies the models of rank 0 to every rank, because constructors may have drawn different random numbers."""
        if self.distributed.watch is not None:
            _gradients.equalise(self.models, self.distributed)

    def spread_buffers(self) -> None:
        """Copies the buffers of rank 0's models, such as the statistics of batch normalization, to every rank."""
        if self.distributed.watch is not None:
            buffers = [buffer for model in self.models for buffer in model.buffers()]
            if buffers:
                _gradients.spread(buffers, self.distributed.watch)

    def begin_batch(self, index: int) -> None:
        """Before ``train_batch``."""
        self.batch_index = index
        if self._exchanges:
            self.spread_buffers()
            for exchange in self._exchanges.values():
                exchange.begin_batch(update=self.is_update_batch())

    def end_batch(self) -> None:
        """After ``train_batch``: the remaining steps of automatic mixed precision."""
        if self._scaler_stepped:
            self._scaler_stepped = False
            self.scaler.update()

    def use_automatic_amp(self) -> None:
        if not self.env.managed_training:
            return
        self.wrap_scaler(torch.amp.grad_scaler.GradScaler(self.device.type))
        self.automatic_amp = True

    def configure_apex_amp(
        self,
        models: Any,
        optimizers: Any,
        enabled: bool = True,
        opt_level: str = "O1",
        **ignored: Any,
    ) -> tuple[Any, Any]:
        """Enables mixed precision for code that was written for Apex, which is no longer developed.

        ``O0`` trains in float32. ``O1`` is PyTorch's own mixed precision: the forward pass under autocast, and dynamic
        loss scaling. ``O2`` and ``O3`` have no counterpart and raise an error.
        """
        if not self.env.managed_training:
            return models, optimizers
        check.false(self._apex_called, "configure_apex_amp() may be called once")
        check.is_none(self.scaler, "configure_apex_amp() and a GradScaler exclude each other")
        check.is_in(opt_level, ("O0", "O1", "O2", "O3"), "opt_level of configure_apex_amp()")
        self._apex_called = True
        if not enabled or opt_level == "O0":
            return models, optimizers
        check.eq(self.device.type, "cuda", "mixed precision needs a GPU")
        check.is_in(opt_level, ("O1",), "O2 and O3 need Apex, which PyTorch's own mixed precision has replaced; use O1")
        if ignored:
            logger.info("options of Apex that are ignored: %s", ", ".join(sorted(ignored)))
        for model in self.models:
            _mixed_precision.autocast_forward(model, self.device.type)
        self.scaler = torch.amp.grad_scaler.GradScaler(self.device.type)
        self.automatic_amp = True
        return models, optimizers

    def _position(self, question: str) -> tuple[int, int]:
        if self.batch_index is None or self.epoch_length is None:
            raise InternalException(f"context.{question} is available only while a batch is being trained")
        return self.batch_index + self.epoch_ahead, self.epoch_length

    def is_epoch_start(self) -> bool:
        """Whether the current batch is the first of an epoch."""
        batch, length = self._position("is_epoch_start()")
        return batch % length == 0

    def is_epoch_end(self) -> bool:
        """Whether the current batch is the last of an epoch."""
        batch, length = self._position("is_epoch_end()")
        return (batch + 1) % length == 0

    def current_train_epoch(self) -> int:
        """The epoch of the current batch, from 0."""
        batch, length = self._position("current_train_epoch()")
        return batch // length

    def current_train_batch(self) -> int:
        """The current batch, from 0, over the whole trial."""
        return self._position("current_train_batch()")[0]

    def get_model(self) -> nn.Module:
        """The trial's only model."""
        check.len_eq(self.models, 1, "context.get_model() needs exactly one model")
        return self.models[0]

    def get_optimizer(self) -> torch.optim.Optimizer:
        """The trial's only optimizer."""
        check.len_eq(self.optimizers, 1, "context.get_optimizer() needs exactly one optimizer")
        return self.optimizers[0]

    def get_lr_scheduler(self) -> LRScheduler | None:
        """The trial's only learning rate scheduler, or None."""
        check.lt_eq(len(self.lr_schedulers), 1, "context.get_lr_scheduler() needs at most one scheduler")
        return self.lr_schedulers[0] if self.lr_schedulers else None
