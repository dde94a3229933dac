"""Reports what a Lightning trainer logs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from determined.core._context import Context
from determined.lightning._library import Logger


class DetLogger(Logger):  # type: ignore[misc]
    """Reports metrics to the platform: those of validations as validation metrics, all others as training metrics.

    They are reported at the number of optimizer steps, which Lightning counts from 0 and the platform from 1.
    """

    def __init__(self, core_context: Context) -> None:
        super().__init__()
        self._core = core_context
        self._trainer: Any = None  # DetCallback sets it
        self._validation: tuple[int, dict[str, Any]] = (-1, {})

    @property
    def name(self) -> str:
        return "determined"

    @property
    def version(self) -> int:
        info = self._core.info
        return info.trial.trial_id if info is not None else 0

    @property
    def experiment(self) -> Context:
        """The Core API context."""
        return self._core

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the trial's hyperparameters are known to the platform."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        if self._core.distributed.rank != 0 or not set(metrics) - {"epoch"}:
            return
        steps, group = (step or 0) + 1, self._group(metrics)
        if group == "validation":
            before, earlier = self._validation
            self._validation = (steps, {**(earlier if before == steps else {}), **metrics})
            self._core.train.report_validation_metrics(steps, self._validation[1])
        elif group == "training":
            self._core.train.report_training_metrics(steps, metrics)
        else:
            self._core.train.report_metrics(group, steps, metrics)

    def _group(self, metrics: Mapping[str, float]) -> str:
        if self._trainer is not None:
            if self._trainer.validating or self._trainer.sanity_checking:
                return "validation"
            return "test" if self._trainer.testing else "training"
        names = set(metrics) - {"epoch"}
        if all(name.startswith("val") for name in names):
            return "validation"
        return "test" if all(name.startswith("test") for name in names) else "training"
