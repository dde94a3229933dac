"""Custom validation metrics, computed over all slots."""

from __future__ import annotations

import abc
import functools
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from determined._compat import zip_strict
from determined._ranks._distributed import DistributedContext
from determined._tensorflow._framework import tf, v1


class MetricReducer:
    """Reduces a validation metric in two steps: batch by batch on each slot, then over all slots.

    Create a new object inside the model function: each is used for one evaluation.

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
        """Adds the metric's value of one batch. The last return value is this slot's part of the result."""
        raise NotImplementedError(f"{type(self).__name__} has no accumulate()")

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        """Computes the metric from the last return values of ``accumulate`` on all slots."""
        raise NotImplementedError(f"{type(self).__name__} has no cross_slot_reduce()")


class _FunctionReducer(MetricReducer):
    """Collects the values of all batches, and passes them to a function."""

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
        turns = itertools.zip_longest(*per_slot_metrics, fillvalue=nothing)  # in the order of a single slot
        return self._function([value for turn in turns for value in turn if value is not nothing])


class MetricMaker:
    """Creates metrics for ``eval_metric_ops``."""

    def __init__(self, ranks: DistributedContext) -> None:
        self._ranks = ranks
        self._last: Any = weakref.WeakKeyDictionary()
        """For each graph, the last value operation. They run one after another, in the same order on every rank."""
        self._names: dict[str, list[str]] = {}
        """For each value operation, the name under which the model function returns it."""
        self._error: Exception | None = None

    def hear_names(self, metric_ops: Mapping[str, Any] | None) -> None:
        """Records the names under which the model function returns these metrics."""
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
                f"the reducer of make_metric() is a {type(reducer).__name__}; it must be a function of the list of "
                "values of all batches, or a determined.estimator.MetricReducer"
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
        """Wraps a function to keep its exception, because TensorFlow keeps only the text."""

        @functools.wraps(function)
        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception as error:
                self._error = error
                raise

        return call

    def raise_error(self) -> None:
        """Raises the exception of a reducer, if any."""
        error, self._error = self._error, None
        if error is not None:
            raise error from None


def _as_array(value: Any, dtype: Any, name: str, rule: MetricReducer) -> Any:
    try:
        if value is not None:
            return np.asarray(value).astype(dtype)
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"{name}: {rule} returned {value!r}; it must return a number or an array that converts to {dtype.name}"
    )


def _flat(metric: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The tensors of a metric, and a function that packs their values in the metric's structure."""
    if isinstance(metric, dict):
        for name in metric:
            if not isinstance(name, str):
                raise TypeError(
                    f"the metric of make_metric() is a dict with the key {name!r}; its keys must be strings"
                )
        names = list(metric)
        return [_tensor(metric[name]) for name in names], lambda values: dict(zip_strict(names, values))
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
        raise TypeError(
            f"the metric of make_metric() contains a {type(value).__name__}; it must contain only tensors"
        ) from None
