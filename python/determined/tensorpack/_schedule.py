"""Hyperparameters that change during training."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any, NamedTuple

from determined._compat import pairwise
from determined.tensorpack._framework import tp

_INTERPOLATED = ("interp", "linear")


class SchedulePoint(NamedTuple):
    """A hyperparameter has exactly this ``value`` after ``point`` training steps.

    Up to the next point, it stays constant, or is interpolated linearly if ``interp`` is "interp" (or "linear").
    """

    point: int
    value: float
    interp: str | None = None


class ScheduleSetter(tp.callbacks.HyperParamSetter):  # type: ignore[misc]
    """Sets a hyperparameter at every step, by a schedule.

    The value depends only on the number of steps, so interruptions do not change it. Before the first point, it is that
    of the first point; after the last point, that of the last.

    Example::

        ScheduleSetter("learning_rate", [SchedulePoint(0, 0.1, "interp"), SchedulePoint(1000, 0.01)])

    Raises:
        ValueError: the schedule has no points, two points for the same step, or an unknown ``interp``.
    """

    def __init__(self, param: Any, schedule: Sequence[Any]) -> None:
        super().__init__(param)
        points = sorted((SchedulePoint(*one) for one in schedule), key=lambda one: one.point)
        if not points:
            raise ValueError(f"the schedule of {param!r} is empty; it must have at least one SchedulePoint")
        for one in points:
            if one.interp is not None and one.interp not in _INTERPOLATED:
                raise ValueError(
                    f'the SchedulePoint at step {one.point} has interp {one.interp!r}; it must be None or "interp"'
                )
        for left, right in pairwise(points):
            if left.point == right.point:
                raise ValueError(f"the schedule of {param!r} has two points at step {left.point}")
        self.schedule = points

    def value_at(self, step: int) -> float:
        """The value after ``step`` training steps."""
        after = bisect.bisect_right([one.point for one in self.schedule], step)
        if after == 0:
            return float(self.schedule[0].value)
        left = self.schedule[after - 1]
        if after == len(self.schedule) or left.interp is None:
            return float(left.value)
        right = self.schedule[after]
        share = (step - left.point) / (right.point - left.point)
        return float(left.value + share * (right.value - left.value))

    def _get_value_to_set(self) -> float:
        return self.value_at(self.global_step)

    def _trigger_epoch(self) -> None:
        """Does nothing: the value is set at every step."""

    def _trigger_step(self) -> None:
        self._set_param()
