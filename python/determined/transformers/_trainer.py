"""What the callback needs of a Trainer and what the Trainer's events do not offer."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import transformers
from transformers.trainer_utils import TrainOutput

_OF_TRL = ("_metrics", "_total_train_tokens")  # of metrics, the values since the last log


class AlreadyTrained(Exception):
    """Raised by the callback when a Trainer that resumes has nothing left to do."""


def install(kind: type[Any]) -> None:
    """Makes ``Trainer.train()`` of a trainer with a callback of this kind tell the callback about itself, and resume
    from the callback's checkpoint.
    """
    original = transformers.Trainer.train
    if getattr(original, "_resumes_determined", False):
        return

    @functools.wraps(original)
    def train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        callback = next((one for one in self.callback_handler.callbacks if isinstance(one, kind)), None)
        if callback is None:
            return original(self, resume_from_checkpoint, *args, **kwargs)
        try:
            return original(self, callback._begins(self, resume_from_checkpoint), *args, **kwargs)
        except AlreadyTrained:
            self.is_in_train = False
            self.control = self.callback_handler.on_train_end(self.args, self.state, self.control)
            steps = max(1, self.state.global_step - self._initial_global_step)
            return TrainOutput(self.state.global_step, self._total_loss_scalar / steps, {})

    train._resumes_determined = True  # type: ignore[attr-defined]
    transformers.Trainer.train = train


def save_losses(trainer: Any, file: pathlib.Path, more: Mapping[str, Any]) -> None:
    """Writes what a Trainer does not save: the losses since it logged last, and since it began; what a trainer of TRL
    has counted.
    """
    losses = {}
    kept = {name: getattr(trainer, name) for name in _OF_TRL if hasattr(trainer, name)}
    if trainer is not None and hasattr(trainer, "_tr_loss"):  # older versions keep it in a local variable
        losses = {
            "since_log": trainer._tr_loss.item(),
            "total": trainer._total_loss_scalar,
            "last_log": trainer._globalstep_last_logged,
            "first_step": trainer._initial_global_step,
        }
    file.write_text(json.dumps({**more, "losses": losses, "trl": kept}))


def restore_losses(trainer: Any, state: Mapping[str, Any]) -> None:
    """Restores what :func:`save_losses` wrote."""
    losses = state.get("losses")
    if losses and hasattr(trainer, "_tr_loss"):
        trainer._tr_loss.fill_(losses["since_log"])
        trainer._total_loss_scalar = losses["total"]
        trainer._globalstep_last_logged = losses["last_log"]
        trainer._initial_global_step = losses["first_step"]
    for name, value in (state.get("trl") or {}).items():
        if isinstance(value, dict):
            for group, lists in value.items():
                getattr(trainer, name)[group].update(lists)
        else:
            setattr(trainer, name, value)
