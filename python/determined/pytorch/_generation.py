"""The two generations of trial classes, behind one interface that trains and evaluates batches."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from determined.common import check
from determined.pytorch._callback import Callbacks, PyTorchCallback, overrides
from determined.pytorch._context import PyTorchTrialContext, check_loss
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._trial import PyTorchTrial

logger = logging.getLogger("determined.pytorch")

CLASSIC_METHODS = ("build_model", "optimizer", "create_lr_scheduler")
REQUIRED_METHODS = ("build_training_data_loader", "build_validation_data_loader", "train_batch")


def _own_method(trial_class: type, name: str) -> Any:
    """The method as the user's class or one of its bases defines it; None if only the platform does."""
    ours = PyTorchTrial.__dict__.get(name)
    for base in trial_class.__mro__:
        method = base.__dict__.get(name)
        if base is PyTorchTrial or (ours is not None and method is ours):
            return None
        if callable(method):
            return method
    return None


def is_classic(trial_class: type) -> bool:
    return any(_own_method(trial_class, name) for name in CLASSIC_METHODS)


def check_class(trial_class: type) -> None:
    """Checks a trial class before an instance is built."""
    name = trial_class.__name__
    missing = [method for method in REQUIRED_METHODS if _own_method(trial_class, method) is None]
    if missing:
        check.fail(f"{name} without {', '.join(missing)}", "a trial that defines every required method")
    ways = [m for m in ("evaluate_batch", "evaluate_full_dataset") if _own_method(trial_class, m)]
    if len(ways) != 1:
        check.fail(
            f"{name} with {'both' if ways else 'neither'} of evaluate_batch and evaluate_full_dataset",
            "exactly one of them",
        )
    classic = is_classic(trial_class)
    if classic:
        for method in ("build_model", "optimizer"):
            if _own_method(trial_class, method) is None:
                found = [m for m in CLASSIC_METHODS if _own_method(trial_class, m)]
                check.fail(
                    f"{name} with {' and '.join(found)}, without {method}",
                    "build_model and optimizer together",
                    "or use context.wrap_model() and context.wrap_optimizer() in the constructor",
                )
    takes_model = _takes(_own_method(trial_class, "train_batch"), "model")
    if classic and not takes_model:
        check.fail(
            f"{name}.train_batch() without the parameter model",
            "train_batch(self, batch, model, epoch_idx, batch_idx)",
            "a trial with build_model() gets its model as an argument",
        )
    if not classic and takes_model and not _takes_any(_own_method(trial_class, "train_batch")):
        check.fail(
            f"{name}.train_batch() with the parameter model, but no build_model()",
            "train_batch(self, batch, epoch_idx, batch_idx)",
            "a trial that wraps its models in the constructor has them itself; one with build_model() and "
            "optimizer() gets the model as an argument",
        )


def _takes_any(method: Any) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(method).parameters.values())


def _takes(method: Any, parameter: str) -> bool:
    return _takes_any(method) or parameter in inspect.signature(method).parameters


@dataclasses.dataclass(frozen=True)
class Calls:
    """A trial of either generation, ready to be called by the loop."""

    callbacks: Callbacks
    train_batch: Callable[[Any, int, int], Any]
    evaluate_batch: Callable[[Any, int], Any] | None
    evaluate_full_dataset: Callable[[Any], Any] | None


def prepare(
    trial: PyTorchTrial, context: PyTorchTrialContext, build_loaders: Callable[[], None] = lambda: None
) -> Calls:
    """Builds what a trial with ``build_model()`` builds in methods, or checks that the constructor of the trial has
    built it.

    ``build_loaders`` is called where the first generation expects it, because its ``optimizer()`` may ask for the
    length of an epoch.
    """
    name = type(trial).__name__
    if is_classic(type(trial)):
        if context.models or context.optimizers:
            check.fail(
                f"{name} with build_model() and with wrapped models or optimizers",
                "one of both",
                "either define build_model() and optimizer(), or wrap models and optimizers in the constructor",
            )
        return _prepare_classic(trial, context, build_loaders)
    for things, wrap in ((context.models, "wrap_model"), (context.optimizers, "wrap_optimizer")):
        if not things:
            check.fail(
                f"no call of context.{wrap}() in the constructor of {name}",
                "at least one",
                "or define build_model() and optimizer(), as trials of the first generation do",
            )
    overridden = type(trial).evaluate_batch is not PyTorchTrial.evaluate_batch
    callbacks = _callbacks(trial)
    _warn_of_clipping(context, callbacks)
    return Calls(
        callbacks=callbacks,
        train_batch=lambda batch, epoch, index: trial.train_batch(batch=batch, epoch_idx=epoch, batch_idx=index),
        evaluate_batch=_evaluate_batch(trial) if overridden else None,
        evaluate_full_dataset=None if overridden else lambda loader: trial.evaluate_full_dataset(data_loader=loader),
    )


def _callbacks(trial: PyTorchTrial) -> Callbacks:
    built = trial.build_callbacks()
    method = f"{type(trial).__name__}.build_callbacks()"
    check.is_instance(built, dict, f"result of {method}")
    for name, callback in built.items():
        if isinstance(callback, type):
            check.fail(f"the class {callback.__name__}", "an instance of it", f"{method}[{name!r}]")
        check.is_instance(callback, PyTorchCallback, f"{method}[{name!r}]")
    return Callbacks(built)


def _warn_of_clipping(context: PyTorchTrialContext, callbacks: Callbacks) -> None:
    if not context.env.managed_training or not context.distributed.is_chief:
        return
    for name, callback in callbacks.by_name.items():
        if overrides(callback, "on_before_optimizer_step"):
            logger.warning(
                "callback %r (%s) has on_before_optimizer_step(), which is called only for trials with build_model(); "
                "clip gradients with context.step_optimizer(optimizer, clip_grads=...)",
                name,
                type(callback).__name__,
            )


def _evaluate_batch(trial: PyTorchTrial) -> Callable[[Any, int], Any]:
    evaluate = trial.evaluate_batch
    parameters = inspect.signature(evaluate).parameters
    if "batch_idx" in parameters:
        return lambda batch, index: evaluate(batch=batch, batch_idx=index)
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) >= 2:
        return lambda batch, index: evaluate(batch, index)
    return lambda batch, _index: evaluate(batch=batch)


def _prepare_classic(trial: Any, context: PyTorchTrialContext, build_loaders: Callable[[], None]) -> Calls:
    name = type(trial).__name__
    model = trial.build_model()
    check.is_instance(model, nn.Module, f"result of {name}.build_model()")
    model = context.wrap_model(model)
    build_loaders()
    optimizer = trial.optimizer(model)
    check.is_instance(optimizer, torch.optim.Optimizer, f"result of {name}.optimizer()")
    optimizer = context.wrap_optimizer(optimizer)
    create_scheduler = _own_method(type(trial), "create_lr_scheduler")
    scheduler = trial.create_lr_scheduler(optimizer) if create_scheduler else None
    if scheduler is not None:
        check.is_instance(scheduler, LRScheduler, f"result of {name}.create_lr_scheduler()")
        context.register_lr_scheduler(scheduler)
    precision = context.env.experiment_config.mixed_precision()
    if precision != "O0":
        context.configure_apex_amp(model, optimizer, opt_level=precision)
    callbacks = _callbacks(trial)
    clip = _classic_clipping(context, callbacks)

    def train_batch(batch: Any, epoch: int, index: int) -> Any:
        result = trial.train_batch(batch=batch, model=model, epoch_idx=epoch, batch_idx=index)
        if isinstance(result, torch.Tensor):
            result = {"loss": result}
        elif not isinstance(result, dict):
            check.fail(f"a {type(result).__name__}", "a tensor or a dict", f"result of {name}.train_batch()")
        if "loss" not in result:
            check.fail(
                f"the keys {sorted(result, key=str)}", "the key 'loss' among them", f"result of {name}.train_batch()"
            )
        check_loss(result["loss"], f"the loss of {name}.train_batch()")
        context.backward(result["loss"])
        context.step_optimizer(optimizer, clip_grads=clip)
        return result

    overridden = type(trial).evaluate_batch is not PyTorchTrial.evaluate_batch
    return Calls(
        callbacks=callbacks,
        train_batch=train_batch,
        evaluate_batch=(lambda batch, _index: trial.evaluate_batch(batch=batch, model=model)) if overridden else None,
        evaluate_full_dataset=None
        if overridden
        else lambda loader: trial.evaluate_full_dataset(data_loader=loader, model=model),
    )


def _classic_clipping(context: PyTorchTrialContext, callbacks: Callbacks) -> Callable[[Any], Any] | None:
    """Gradient clipping of the first generation: by callbacks, otherwise by hyperparameters."""
    if callbacks.has("on_before_optimizer_step"):
        return lambda parameters: callbacks.call("on_before_optimizer_step", parameters)
    norm = context.env.hparams.get("clip_grad_l2_norm")
    value = context.env.hparams.get("clip_grad_val")
    if norm is not None and value is not None:
        check.fail("the hyperparameters clip_grad_l2_norm and clip_grad_val", "at most one of them")
    if norm is not None:
        return lambda parameters: nn.utils.clip_grad_norm_(parameters, norm)
    if value is not None:
        return lambda parameters: nn.utils.clip_grad_value_(parameters, value)
    return None
