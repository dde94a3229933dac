"""Validation metrics with rules of their own, computed over all slots."""

from __future__ import annotations

import abc
import functools
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from determined._ranks._distributed import DistributedContext
from determined._tensorflow._framework import tf, v1


class MetricReducer:
    """Reduces a validation metric in two steps: batch by batch on each slot, then over all slots.

    Make a new one inside the model function: it serves one evaluation.

    Example::

        class Mean(MetricReducer):
            def __init__(self):
                self.sum, self.count = 0.0, 0

            def accumulate(self, metric):
                self.sum, self.count = self.sum + metric.sum(), self.count + metric.size
                return self.sum, self.count

            def cross_slot_reduce(self, per_slot_metrics):
                sums, counts = zip(*per_slot_metrics)
                return sum(sums) / sum(counts)
    """

    def __str__(self) -> str:
        return f"{type(self).__name__}.cross_slot_reduce()"

    @abc.abstractmethod
    def accumulate(self, metric: Any) -> Any:
        """Takes in the metric's value of one batch. What it returns last is this slot's part of the whole."""
        raise NotImplementedError(f"{type(self).__name__} has no accumulate()")

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        """The metric, from what ``accumulate`` returned last on each slot."""
        raise NotImplementedError(f"{type(self).__name__} has no cross_slot_reduce()")


class _FunctionReducer(MetricReducer):
    """Keeps the values of all batches for one call of a function."""

    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        self._function = function
        self._values: list[Any] = []

    def __str__(self) -> str:
        return f"the reducer {getattr(self._function, '__name__', self._function)!s}()"

    def accumulate(self, metric: Any) -> list[Any]:
        self._values.append(metric)
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        nothing = object()
        turns = itertools.zip_longest(*per_slot_metrics, fillvalue=nothing)  # the order that one slot would see
        return self._function([value for turn in turns for value in turn if value is not nothing])


class MetricMaker:
    """Makes metrics for ``eval_metric_ops``."""

    def __init__(self, ranks: DistributedContext) -> None:
        self._ranks = ranks
        self._last: Any = weakref.WeakKeyDictionary()
        """In each graph, the value operation made last: they run one after the other, the same on every rank."""
        self._names: dict[str, list[str]] = {}
        """By the value operation: under what name the model function gives it to TensorFlow, once it has."""
        self._error: Exception | None = None

    def hear_names(self, metric_ops: Mapping[str, Any] | None) -> None:
        """How the model function calls what was made here."""
        for name, pair in (metric_ops or {}).items():
            if isinstance(pair, tuple) and tf.is_tensor(pair[0]) and pair[0].op.name in self._names:
                self._names[pair[0].op.name][:] = [f"metric {name!r}"]

    def make(self, metric: Any, reducer: Any, numpy_dtype: Any) -> tuple[Any, Any]:
        """As ``EstimatorExperimentalContext.make_metric``."""
        tensors, packed = _flat(metric)
        if isinstance(reducer, MetricReducer):
            rule = reducer
        elif callable(reducer):
            rule = _FunctionReducer(reducer)
        else:
            raise TypeError(
                f"the reducer of make_metric() is a {type(reducer).__name__}; it must be a function of the list of all "
                "batches' values, or a determined.estimator.MetricReducer"
            )
        dtype = np.dtype(numpy_dtype)
        part: list[Any] = []
        name = ["the metric"]

        def accumulate(*values: Any) -> Any:
            part[:] = [rule.accumulate(packed(values))]
            return np.int64(0)

        def reduce() -> Any:
            parts = self._ranks.allgather(part)
            empty = [rank for rank, found in enumerate(parts) if not found]
            if empty:
                raise ValueError(
                    f"rank {', '.join(map(str, empty))} had no validation batch; a metric of make_metric() needs "
                    "at least one on every slot"
                )
            return _as_array(rule.cross_slot_reduce([found[0] for found in parts]), dtype, name[0], rule)

        graph = v1.get_default_graph()
        update = tf.numpy_function(self._kept(accumulate), tensors, tf.int64)
        before = self._last.get(graph)
        with v1.control_dependencies([before] if before is not None else []):
            value = tf.numpy_function(self._kept(reduce), [], tf.as_dtype(dtype))
        self._last[graph] = value
        self._names[value.op.name] = name
        return value, update

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose error is kept: what runs it makes a text of it."""

        @functools.wraps(function)
        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception as error:
                self._error = error
                raise

        return call

    def raise_error(self) -> None:
        """Raises what a reducer raised, if one did."""
        error, self._error = self._error, None
        if error is not None:
            raise error from None


def _as_array(value: Any, dtype: Any, name: str, rule: MetricReducer) -> Any:
    try:
        if value is not None:
            return np.asarray(value).astype(dtype)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name}: {rule} gave {value!r}; it must be a number or an array, to be reported as {dtype.name}")


def _flat(metric: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The tensors of a metric, and how to put their values together again in its form."""
    if isinstance(metric, dict):
        for name in metric:
            if not isinstance(name, str):
                raise TypeError(
                    f"the metric of make_metric() is a dict with the key {name!r}; its keys must be strings"
                )
        names = list(metric)
        return [_tensor(metric[name]) for name in names], lambda values: dict(zip(names, values, strict=True))
    if isinstance(metric, (list, tuple)):
        return [_tensor(one) for one in metric], list
    return [_tensor(metric)], lambda values: values[0]


def _tensor(value: Any) -> Any:
    if tf.is_tensor(value) or isinstance(value, tf.Variable):
        return tf.convert_to_tensor(value)
    if isinstance(value, (dict, list, tuple)):
        raise TypeError(
            "the metric of make_metric() is nested; it must be a tensor, a list of tensors or a dict of tensors"
        )
    try:
        return tf.convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(f"the metric of make_metric() holds a {type(value).__name__}; it must hold tensors") from None
