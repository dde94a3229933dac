"""What a training with Lightning continues from, besides Lightning's own checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def name(rank: int) -> str:
    return f"determined-{rank}.pth"


def results(collection: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What ``self.log(…, on_epoch=True)`` has summed up since the epoch began."""
    found = {}
    for key, result in collection.items():
        if getattr(result, "is_tensor", False) and result.meta.on_epoch:
            found[key] = {part: getattr(result, part).clone() for part in ("value", "cumulated_batch_size")
                          if isinstance(getattr(result, part, None), torch.Tensor)}  # fmt: skip
    return found


def add_results(collection: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]]) -> None:
    """Adds what :func:`results` returned to what the first batch after it has logged."""
    for key, parts in before.items():
        result = collection.get(key)
        if result is None:
            continue
        if result.meta.is_max_reduction or result.meta.is_min_reduction:
            result.value = result.meta.reduce_fx(parts["value"], result.value)
            continue
        for part, value in parts.items():
            setattr(result, part, value + getattr(result, part))


def metrics(module: Any) -> dict[str, Any]:
    """The states of the metrics of torchmetrics that are attributes of a module."""
    return {where: (dict(one.metric_state), one._update_count) for where, one in _metrics_of(module).items()}


def restore_metrics(module: Any, states: Mapping[str, Any]) -> None:
    """Restores what :func:`metrics` returned."""
    for where, one in _metrics_of(module).items():
        if where in states:
            state, one._update_count = states[where]
            for part, value in state.items():
                setattr(one, part, value)


def _metrics_of(module: Any) -> dict[str, Any]:
    return {where: one for where, one in module.named_modules() if hasattr(one, "metric_state")}


def step_plateaus(trainer: Any, values: Mapping[str, float]) -> None:
    """Does what Lightning would have done after the checkpoint at the end of an epoch, and does not when it resumes."""
    for config in trainer.lr_scheduler_configs:
        due = config.reduce_on_plateau and config.interval == "epoch" and trainer.current_epoch % config.frequency == 0
        if due and config.monitor in values:
            trainer.fit_loop.epoch_loop.scheduler_progress.increment_ready()
            config.scheduler.step(values[config.monitor])
            trainer.fit_loop.epoch_loop.scheduler_progress.increment_completed()
