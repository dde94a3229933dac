"""Callbacks of a trial."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import torch

logger = logging.getLogger("determined.pytorch")


class PyTorchCallback:
    """The base class of callbacks. Override the hooks you need, and return instances from ``build_callbacks``.

    Callbacks run in the order of that dict. A callback with state must implement ``state_dict`` and
    ``load_state_dict``, so that the state survives a pause.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: str | None) -> None:
        """Before the data loaders are built."""

    def on_training_start(self) -> None:
        """After the checkpoint is loaded, before the first batch of this process."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of an epoch. The parameter ``epoch_idx`` may be omitted."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of an epoch."""

    def on_train_step_start(self, step_id: int) -> None:
        """Before a training workload; for trials with ``build_model()``."""

    def on_train_step_end(self, step_id: int, metrics: dict[str, Any]) -> None:
        """After a training workload; for trials with ``build_model()``."""

    def on_training_workload_end(self, avg_metrics: dict[str, Any], batch_metrics: list[dict[str, Any]]) -> None:
        """After a training workload."""

    def on_before_optimizer_step(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """After the gradients are complete, before the optimizer steps; for trials with ``build_model()``."""

    def on_validation_step_start(self) -> None:
        """The former name of ``on_validation_start``."""

    def on_validation_start(self) -> None:
        """Before a validation."""

    def on_validation_epoch_start(self) -> None:
        """Before the first validation batch."""

    def on_validation_epoch_end(self, outputs: list[Any]) -> None:
        """After the last validation batch, with the metrics of every batch."""

    def on_validation_step_end(self, metrics: dict[str, Any]) -> None:
        """The former name of ``on_validation_end``."""

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        """After a validation, with its metrics."""

    def on_checkpoint_load_start(self, checkpoint: dict[str, Any]) -> None:
        """After a checkpoint is read, before it is applied; may change it."""

    def on_checkpoint_save_start(self, checkpoint: dict[str, Any]) -> None:
        """Before a checkpoint is written; may change it."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """After the files of a checkpoint are written; may add files. The states of callbacks are already saved."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """Like ``on_checkpoint_end``."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """After a checkpoint is in storage."""

    def on_trial_shutdown(self) -> None:
        """Before this process leaves the trial, at its end or for a pause."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores what ``state_dict`` returned."""


class ClipGradsL2Norm(PyTorchCallback):
    """Scales the gradients so that their total L2 norm is at most ``clip_value``."""

    def __init__(self, clip_value: float) -> None:
        self._clip_value = clip_value

    def on_before_optimizer_step(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        torch.nn.utils.clip_grad_norm_(parameters, self._clip_value)


class ClipGradsL2Value(PyTorchCallback):
    """Clips every element of the gradients to the range from ``-clip_value`` to ``clip_value``."""

    def __init__(self, clip_value: float) -> None:
        self._clip_value = clip_value

    def on_before_optimizer_step(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        torch.nn.utils.clip_grad_value_(parameters, self._clip_value)


def overrides(callback: object, hook: str) -> bool:
    """Whether a callback overrides a hook. The callback need not be a PyTorchCallback."""
    own = getattr(type(callback), hook, None)
    return own is not None and own is not getattr(PyTorchCallback, hook)


_FORMER = {
    "on_validation_step_start": "on_validation_start",
    "on_validation_step_end": "on_validation_end",
    "on_train_step_start": None,  # no newer hook is called before each workload
    "on_train_step_end": "on_training_workload_end",
}


class Callbacks:
    """The callbacks of a trial. Only overridden hooks are called, so unused hooks cost nothing."""

    def __init__(self, callbacks: Mapping[str, Any]) -> None:
        self.by_name = dict(callbacks)
        hooks = [name for name in vars(PyTorchCallback) if name.startswith("on_")]
        self._hooks = {hook: [getattr(c, hook) for c in self.by_name.values() if overrides(c, hook)] for hook in hooks}
        self._hooks["on_training_epoch_start"] = [
            hook if _takes_argument(hook) else _without_argument(hook)
            for hook in self._hooks["on_training_epoch_start"]
        ]
        for former, name in _FORMER.items():
            if self._hooks[former]:
                newer = f"; its newer name is {name}" if name else ""
                logger.warning("callback hook %s is deprecated but still works%s", former, newer)

    def __len__(self) -> int:
        return len(self.by_name)

    def has(self, hook: str) -> bool:
        return bool(self._hooks[hook])

    def call(self, hook: str, *args: Any) -> None:
        for function in self._hooks[hook]:
            function(*args)

    def state_dict(self) -> dict[str, Any]:
        return {name: callback.state_dict() for name, callback in self.by_name.items()}

    def load_state_dict(self, states: Mapping[str, Any]) -> None:
        for name, callback in self.by_name.items():
            if name in states:
                callback.load_state_dict(states[name])
            elif overrides(callback, "load_state_dict"):
                logger.warning("the checkpoint has no state for callback %r; it starts from its initial state", name)


def _takes_argument(hook: Any) -> bool:
    parameters = inspect.signature(hook).parameters.values()
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)


def _without_argument(hook: Any) -> Any:
    return lambda _epoch_idx: hook()
