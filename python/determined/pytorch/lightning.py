"""Trains a ``LightningModule`` in the platform's own loop."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from determined.common import check
from determined.lightning._library import pl
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._metric_reducer import MetricReducer
from determined.pytorch._trial import PyTorchTrial

_NOT_CALLED = (
    "backward",
    "configure_callbacks",
    "configure_gradient_clipping",
    "lr_scheduler_step",
    "on_after_batch_transfer",
    "on_before_batch_transfer",
    "optimizer_step",
    "optimizer_zero_grad",
    "transfer_batch_to_device",
)


class LightningAdapter(PyTorchTrial):
    """A PyTorch trial whose model, optimizers and steps are those of a ``LightningModule``.

    ::

        class Trial(LightningAdapter):
            def __init__(self, context):
                super().__init__(context, lightning_module=Classifier(context.get_hparams()))

            def build_training_data_loader(self): ...
            def build_validation_data_loader(self): ...

    Metrics are what ``self.log`` gets in the steps and hooks, and the loss of ``training_step``: numbers and tensors
    are averaged over batches and slots, metrics of torchmetrics are merged. With ``automatic_optimization = False``,
    the module calls ``self.manual_backward`` and the ``step`` of ``self.optimizers()`` itself. ``self.trainer`` has the
    attributes of a Fabric and ``current_epoch``, ``global_step``, ``global_rank``, ``local_rank``, ``world_size``,
    ``is_global_zero``. Modules that override a hook which the loop does not call are refused.

    ``precision`` is 32, or 16 for mixed precision. ``gradient_clip_val`` is the largest norm of an optimizer's
    gradients, as in ``lightning.Trainer``.
    """

    def __init__(
        self,
        context: PyTorchTrialContext,
        lightning_module: Any,
        precision: int = 32,
        gradient_clip_val: float | None = None,
    ) -> None:
        check.is_instance(lightning_module, pl.LightningModule, "lightning_module of LightningAdapter")
        if precision not in (16, 32):
            raise ValueError(f"precision is {precision!r}; it must be 16 or 32")
        name = type(lightning_module).__name__
        found = [
            hook
            for hook in _NOT_CALLED
            if getattr(type(lightning_module), hook, None) is not getattr(pl.LightningModule, hook, None)
        ]
        if found:
            raise ValueError(
                f"{name} overrides {', '.join(found)}, which LightningAdapter does not call; "
                "train it with determined.lightning.Trainer"
            )
        super().__init__(context)
        if precision == 16:
            context.experimental.use_amp()
        self._clip = gradient_clip_val
        self._training_log = context.wrap_reducer(_Log(), for_validation=False)
        self._validation_log = context.wrap_reducer(_Log(), for_training=False)
        self._log: _Log | None = None
        """Where ``self.log`` of the module goes; None: outside of training and validation."""
        lightning_module.configure_model()
        self.lightning_module = context.wrap_model(lightning_module)
        self._training_step = _step(self.lightning_module.training_step)
        self._validation_step = _step(self.lightning_module.validation_step)
        self._loop = _Loop(context)
        _attach(self.lightning_module, self._loop, self._record)
        self.lightning_module.setup("fit")
        self._configure_optimizers(name)

    def _configure_optimizers(self, name: str) -> None:
        module = self.lightning_module
        optimizers, schedulers = _parts_of(module.configure_optimizers(), name)
        if module.automatic_optimization and len(optimizers) != 1:
            raise ValueError(
                f"{name} has {len(optimizers)} optimizers; automatic optimization needs exactly one, "
                "others set automatic_optimization = False"
            )
        self._optimizers = [self.context.wrap_optimizer(optimizer) for optimizer in optimizers]
        self._loop.optimizers = self._optimizers
        module._fabric_optimizers = [_SteppedOptimizer(one, self._loop) for one in self._optimizers]
        self._plateaus: list[tuple[Any, str]] = []
        self._loop.lr_scheduler_configs = [_SchedulerConfig(one["scheduler"]) for one in schedulers]
        for one in schedulers:
            scheduler, modes = one["scheduler"], LRScheduler.StepMode
            mode = modes.STEP_EVERY_OPTIMIZER_STEP if one.get("interval") == "step" else modes.STEP_EVERY_EPOCH
            if not module.automatic_optimization:
                mode = modes.MANUAL_STEP
            elif isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                if not one.get("monitor"):
                    raise ValueError(f"{name} has a ReduceLROnPlateau; configure_optimizers() must say its monitor")
                mode = modes.MANUAL_STEP
                self._plateaus.append((scheduler, one["monitor"]))
            self.context.wrap_lr_scheduler(scheduler, mode, one.get("frequency", 1))

    def _record(self, values: Mapping[str, Any]) -> None:
        if self._log is not None:
            self._log.add(values)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        module, context = self.lightning_module, self.context
        index = (batch_idx + context.epoch_ahead) % context.epoch_length if context.epoch_length else batch_idx
        self._loop.current_epoch = epoch_idx
        if module.on_train_batch_start(batch, index) == -1:
            raise ValueError("on_train_batch_start() returned -1; LightningAdapter cannot skip an epoch")
        outputs = self._training_step(batch, index)
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if module.automatic_optimization:
            if loss is None:
                raise ValueError("training_step() returned no loss; LightningAdapter cannot skip a batch")
            (optimizer,) = self._optimizers
            module.on_before_backward(loss)
            context.backward(loss)
            module.on_after_backward()
            self._loop.step(optimizer, self._before_step(optimizer))
            module.on_before_zero_grad(optimizer)
        module.on_train_batch_end(outputs, batch, index)
        return {} if loss is None else {"loss": loss.detach()}

    def _before_step(self, optimizer: Any) -> Callable[[Any], None]:
        def run(parameters: Iterable[torch.nn.Parameter]) -> None:
            self.lightning_module.on_before_optimizer_step(optimizer)
            if self._clip is not None:
                torch.nn.utils.clip_grad_norm_(parameters, self._clip)

        return run

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        module = self.lightning_module
        module.on_validation_batch_start(batch, batch_idx)
        outputs = self._validation_step(batch, batch_idx)
        module.on_validation_batch_end(outputs, batch, batch_idx)
        return {}

    def build_callbacks(self) -> dict[str, Any]:
        return {"lightning_module": _Hooks(self)}


class _Hooks(PyTorchCallback):
    """Calls the module's hooks, and keeps what the loop knows."""

    def __init__(self, trial: LightningAdapter) -> None:
        self._trial = trial
        self._module = trial.lightning_module

    def on_training_start(self) -> None:
        self._trial._log = self._trial._training_log
        self._module.on_fit_start()
        self._module.on_train_start()

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        self._trial._loop.current_epoch = epoch_idx
        self._module.on_train_epoch_start()

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        self._module.on_train_epoch_end()

    def on_validation_start(self) -> None:
        self._trial._log = self._trial._validation_log
        self._module.on_validation_start()

    def on_validation_epoch_start(self) -> None:
        self._module.on_validation_epoch_start()

    def on_validation_epoch_end(self, outputs: list[Any]) -> None:
        self._module.on_validation_epoch_end()

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        self._module.on_validation_end()
        self._trial._log = self._trial._training_log
        for scheduler, monitor in self._trial._plateaus:
            if monitor not in metrics:
                raise ValueError(f"a ReduceLROnPlateau monitors {monitor!r}; the validation has {sorted(metrics)}")
            scheduler.step(metrics[monitor])

    def on_checkpoint_save_start(self, checkpoint: dict[str, Any]) -> None:
        self._module.on_save_checkpoint(checkpoint)

    def on_checkpoint_load_start(self, checkpoint: dict[str, Any]) -> None:
        self._module.on_load_checkpoint(checkpoint)

    def on_trial_shutdown(self) -> None:
        self._module.on_train_end()
        self._module.on_fit_end()
        self._module.teardown("fit")

    def state_dict(self) -> dict[str, Any]:
        return {"global_step": self._trial._loop.global_step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._trial._loop.global_step = state_dict["global_step"]


class _Log(MetricReducer):
    """What ``self.log`` got in one training workload or one validation."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        for metric in getattr(self, "_metrics", {}).values():
            metric.reset()
        self._sums: dict[str, list[Any]] = {}
        self._metrics: dict[str, Any] = {}

    def add(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if callable(getattr(value, "compute", None)):
                self._metrics[name] = value
                continue
            value = value.detach().double().mean() if isinstance(value, torch.Tensor) else float(value)
            total = self._sums.setdefault(name, [0.0, 0])
            total[0] = total[0] + value
            total[1] += 1

    def per_slot_reduce(self) -> Any:
        metrics = {name: copy.deepcopy(metric).cpu() for name, metric in self._metrics.items()}
        return {name: (float(total), count) for name, (total, count) in self._sums.items()}, metrics

    def cross_slot_reduce(self, per_slot_metrics: Any) -> dict[str, Any]:
        totals: dict[str, list[float]] = {}
        merged: dict[str, Any] = {}
        for sums, metrics in per_slot_metrics:
            for name, (total, count) in sums.items():
                both = totals.setdefault(name, [0.0, 0])
                both[0] += total
                both[1] += count
            for name, metric in metrics.items():
                if name in merged:
                    merged[name].merge_state(metric)
                else:
                    merged[name] = metric
                    metric.sync_on_compute = False
        reduced: dict[str, Any] = {name: total / count for name, (total, count) in totals.items()}
        for name, metric in merged.items():
            value = metric.compute()
            reduced[name] = value.tolist() if isinstance(value, torch.Tensor) else value
        return reduced


class _Loop:
    """What a module reads as ``self.trainer`` and ``self.fabric``."""

    logger = None
    training = True
    progress_bar_callback = None

    def __init__(self, context: PyTorchTrialContext) -> None:
        self._context = context
        self.current_epoch = 0
        self.global_step = 0
        self.global_rank = context.distributed.rank
        self.local_rank = context.distributed.local_rank
        self.world_size = context.distributed.size
        self.is_global_zero = context.distributed.rank == 0
        self.device = context.device
        self.loggers: list[Any] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.lr_scheduler_configs: list[_SchedulerConfig] = []

    def backward(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        self._context.backward(tensor, *args, **kwargs)

    def step(self, optimizer: Any, before: Callable[[Any], None] | None, zero_gradients: bool = True) -> None:
        self._context.step_optimizer(optimizer, clip_grads=before, auto_zero_grads=zero_gradients)
        if self._context.is_update_batch():
            self.global_step += 1


class _SchedulerConfig:
    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler


class _SteppedOptimizer(torch.optim.Optimizer):
    """An optimizer whose step is the platform's, for modules that call it themselves."""

    def __init__(self, optimizer: torch.optim.Optimizer, loop: _Loop) -> None:
        self.optimizer = optimizer  # Optimizer.__init__ would take parameters of its own
        self._loop = loop

    def step(self, closure: Any = None) -> Any:
        if closure is not None:
            raise ValueError("LightningAdapter steps optimizers without a closure")
        self._loop.step(self.optimizer, None, zero_gradients=False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["optimizer"], name)

    def __repr__(self) -> str:
        return repr(self.optimizer)


def _attach(module: Any, loop: _Loop, record: Callable[[Mapping[str, Any]], None]) -> None:
    """Makes the loop the module's trainer. Lightning has a way for loops that are not its own: that of its Fabric."""
    module.fabric = loop
    module._trainer = loop

    # A workload has one value of each name, whichever of on_step and on_epoch was asked for.
    def log(name: str, value: Any, *_: Any, **__: Any) -> None:
        record({name: value})

    def log_dict(dictionary: Mapping[str, Any], *_: Any, **__: Any) -> None:
        record(dictionary)

    for part in module.modules():
        if isinstance(part, pl.LightningModule):
            object.__setattr__(part, "log", log)
            object.__setattr__(part, "log_dict", log_dict)


def _parts_of(configured: Any, name: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """The optimizers and schedulers in what ``configure_optimizers()`` returned, in any of Lightning's forms."""
    schedulers: list[Any] = []
    if isinstance(configured, torch.optim.Optimizer):
        optimizers = [configured]
    elif isinstance(configured, Mapping):
        optimizers = [configured["optimizer"]]
        schedulers = [configured["lr_scheduler"]] if configured.get("lr_scheduler") is not None else []
    elif isinstance(configured, (list, tuple)) and len(configured) == 2 and isinstance(configured[0], (list, tuple)):
        optimizers = list(configured[0])
        schedulers = list(configured[1]) if isinstance(configured[1], (list, tuple)) else [configured[1]]
    elif isinstance(configured, (list, tuple)):
        optimizers = []
        for one in configured:
            found, more = _parts_of(one, name)
            optimizers += found
            schedulers += more
    else:
        raise ValueError(f"configure_optimizers() of {name} returned {configured!r}; it must return an optimizer")
    return optimizers, [one if isinstance(one, Mapping) else {"scheduler": one} for one in schedulers]  # type: ignore[misc]


def _step(step: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """A step that takes the batch and its index, whichever the module's takes."""
    return step if len(inspect.signature(step).parameters) > 1 else lambda batch, _: step(batch)
