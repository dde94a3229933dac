"""Metrics with a custom reduction, over the whole validation set and over all slots."""

from __future__ import annotations

import abc
import dataclasses
import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from determined._ranks._distributed import DistributedContext


class MetricReducer(abc.ABC):
    """A metric that is not the mean over batches.

    Update it in ``train_batch`` or ``evaluate_batch`` through a method of your own.

    Example::

        class Largest(MetricReducer):
            def reset(self):
                self.largest = 0.0

            def update(self, value):
                self.largest = max(self.largest, value)

            def per_slot_reduce(self):
                return self.largest

            def cross_slot_reduce(self, per_slot_metrics):
                return max(per_slot_metrics)
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Resets the metric; called before each training workload and each validation."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """Returns the value of this slot, which must be possible to pickle."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: Any) -> Any:
        """Returns the metric, or a dict of metrics, from the values of the slots in the order of ranks."""


class FunctionReducer(MetricReducer):
    """The reducer of a function passed to ``wrap_reducer``: collects values and calls it with all of them."""

    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        self._function = function
        self._values: list[Any] = []

    def reset(self) -> None:
        self._values = []

    def update(self, value: Any) -> None:
        """Adds a value, usually one per batch."""
        self._values.append(value)

    def per_slot_reduce(self) -> Any:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: Iterable[list[Any]]) -> Any:
        return self._function(interleave(per_slot_metrics))


def interleave(per_slot: Iterable[list[Any]]) -> list[Any]:
    """The first value of each slot, then the second of each, and so on, as a single slot would have seen them."""
    missing = object()
    rows = itertools.zip_longest(*per_slot, fillvalue=missing)
    return [value for row in rows for value in row if value is not missing]


Reduced = TypeVar("Reduced", bound=MetricReducer)


@dataclasses.dataclass(frozen=True)
class _Wrapped:
    reducer: MetricReducer
    name: str | None
    for_training: bool
    for_validation: bool

    def failed(self, step: str, error: Exception) -> ValueError:
        called = f"metric {self.name!r}" if self.name else "its metrics"
        return ValueError(f"{type(self.reducer).__name__}.{step}() failed for {called}: {error}")


class MetricReducers:
    """All reducers of a trial, in the order in which they were wrapped."""

    def __init__(self) -> None:
        self._wrapped: list[_Wrapped] = []

    def __len__(self) -> int:
        return len(self._wrapped)

    def wrap(
        self,
        reducer: Any,
        name: str | None,
        for_training: bool,
        for_validation: bool,
    ) -> Any:
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise AssertionError(
                    f"wrap_reducer() got a {type(reducer).__name__}; it must be a MetricReducer or a function"
                )
            reducer = FunctionReducer(reducer)
        if any(wrapped.reducer is reducer for wrapped in self._wrapped):
            raise AssertionError(
                f"this {type(reducer).__name__} is already wrapped; create another one for a second metric"
            )
        self._wrapped.append(_Wrapped(reducer, name, for_training, for_validation))
        return reducer

    def reset(self) -> None:
        for wrapped in self._wrapped:
            try:
                wrapped.reducer.reset()
            except Exception as error:
                raise wrapped.failed("reset", error) from error

    def reduce(self, distributed: DistributedContext, *, training: bool) -> dict[str, Any]:
        """The metrics of all reducers for this kind of workload."""
        chosen = [w for w in self._wrapped if (w.for_training if training else w.for_validation)]
        if not chosen:
            return {}
        mine = []
        for wrapped in chosen:
            try:
                mine.append(wrapped.reducer.per_slot_reduce())
            except Exception as error:
                raise wrapped.failed("per_slot_reduce", error) from error
        by_rank = distributed.allgather(mine)
        metrics: dict[str, Any] = {}
        for number, wrapped in enumerate(chosen):
            try:
                value = wrapped.reducer.cross_slot_reduce([values[number] for values in by_rank])
            except Exception as error:
                raise wrapped.failed("cross_slot_reduce", error) from error
            metrics.update(_named(wrapped, value))
        return metrics


def _named(wrapped: _Wrapped, value: Any) -> dict[str, Any]:
    kind = type(wrapped.reducer).__name__
    if wrapped.name is None:
        if not isinstance(value, dict):
            raise AssertionError(
                f"{kind} was wrapped without a name and returned a {type(value).__name__}; "
                "give wrap_reducer() a name, or return a dict from name to metric"
            )
        return value
    if isinstance(value, dict):
        raise AssertionError(
            f"{kind} was wrapped as {wrapped.name!r} and returned a dict; leave out the name to report several metrics"
        )
    return {wrapped.name: value}
