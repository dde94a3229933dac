"""When a learning rate scheduler steps."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import torch

from determined.common import check

# Once, for all calls of get_lr(): a filter for each call would make Python forget which warnings it has shown.
warnings.filterwarnings("ignore", r"To get the last learning rate computed by the scheduler", UserWarning)


class StepMode(enum.Enum):
    """Specifies when and how ``scheduler.step()`` is called."""

    STEP_EVERY_EPOCH = 1
    """After every training epoch, without arguments."""
    STEP_EVERY_BATCH = 2
    """After every training batch, without arguments."""
    MANUAL_STEP = 3
    """Never: the trial calls ``step()`` itself."""
    STEP_EVERY_OPTIMIZER_STEP = 4
    """After every step of the optimizer, without arguments."""


_StepMode = StepMode


class LRScheduler:
    """Sets when a PyTorch learning rate scheduler steps, and stores its state in checkpoints.

    Trials with ``build_model()`` return one from ``create_lr_scheduler``; others call ``context.wrap_lr_scheduler``.
    With a ``frequency`` of n, it steps only at every n-th batch, epoch or optimizer step.
    """

    StepMode = StepMode

    def __init__(self, scheduler: Any, step_mode: _StepMode, frequency: int = 1) -> None:
        if scheduler is None:
            check.fail("None", "a scheduler of torch.optim.lr_scheduler", "LRScheduler wraps a scheduler")
        if isinstance(scheduler, torch.optim.Optimizer) or not callable(getattr(scheduler, "step", None)):
            check.fail(
                f"a {type(scheduler).__name__}",
                "a scheduler of torch.optim.lr_scheduler",
                "LRScheduler wraps a scheduler",
            )
        if not isinstance(step_mode, StepMode):
            check.fail(repr(step_mode), "a member of LRScheduler.StepMode", "step_mode of LRScheduler")
        if not isinstance(frequency, int) or frequency < 1:
            check.fail(repr(frequency), "a whole number of at least 1", "frequency of LRScheduler")
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    @property
    def scheduler(self) -> Any:
        """The wrapped scheduler."""
        return self._scheduler

    @property
    def step_mode(self) -> _StepMode:
        return self._step_mode

    @property
    def frequency(self) -> int:
        return self._frequency

    def get_lr(self) -> list[Any]:
        """Calls ``get_lr()`` of the wrapped scheduler; to read the learning rates, use ``get_last_lr()``."""
        return list(self._scheduler.get_lr())

    def get_last_lr(self) -> list[Any]:
        """The current learning rates, one per parameter group."""
        return list(self._scheduler.get_last_lr())

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Steps the wrapped scheduler; only for ``MANUAL_STEP``."""
        if self._step_mode is not StepMode.MANUAL_STEP:
            check.fail(
                f"a call of LRScheduler.step() in mode {self._step_mode.name}",
                "no call",
                "the platform steps this scheduler itself; use LRScheduler.StepMode.MANUAL_STEP to step it yourself",
            )
        self._scheduler.step(*args, **kwargs)

    def state_dict(self) -> dict[str, Any]:
        return dict(self._scheduler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._scheduler.load_state_dict(state)

    def after_update(self, batch: int, *, aggregation: int, epoch_length: int) -> None:
        """Called after the optimizers stepped at training batch ``batch`` (from 0)."""
        for _ in range(steps_due(self._step_mode, self._frequency, batch, aggregation, epoch_length)):
            self._scheduler.step()


def steps_due(mode: StepMode, frequency: int, batch: int, aggregation: int, epoch_length: int) -> int:
    """How many times a scheduler steps after the update at ``batch``.

    Every batch and every epoch counts once, at the update that completes it: with an aggregation of 4, a scheduler that
    counts batches steps four times at each update.
    """
    if mode is StepMode.STEP_EVERY_BATCH:
        return (batch + 1) // frequency - (batch + 1 - aggregation) // frequency
    if mode is StepMode.STEP_EVERY_OPTIMIZER_STEP:
        return 1 if (batch + 1) % frequency == 0 else 0
    if mode is StepMode.STEP_EVERY_EPOCH:
        ended_before_this = _epochs_closed_before(batch, epoch_length)
        ended_before_next = _epochs_closed_before(batch + aggregation, epoch_length)
        return ended_before_next // frequency - ended_before_this // frequency
    return 0


def _epochs_closed_before(update: int, epoch_length: int) -> int:
    """The number of complete epochs before the update at batch ``update``."""
    return update // epoch_length
