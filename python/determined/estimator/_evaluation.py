"""Evaluation of an Estimator, with metrics over all ranks."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from determined._compat import zip_strict
from determined._ranks._distributed import DistributedContext
from determined._tensorflow import _exchange
from determined._tensorflow._framework import tf, v1

logger = logging.getLogger("determined.estimator")


class CountBatches(v1.train.SessionRunHook):  # type: ignore[misc]
    """Counts the evaluated batches, because TensorFlow's metrics are zeros if there were none."""

    def __init__(self) -> None:
        self.batches = 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.batches += 1


class SumOverRanks(v1.train.SessionRunHook):  # type: ignore[misc]
    """Sums the states of TensorFlow's metrics over ranks, just before their values are computed.

    These states (sums and counts, true and false positives, confusion matrices) are additive. Accuracy or the area
    under a curve is therefore that of the whole data set, not a mean over ranks.
    """

    def __init__(self, ranks: DistributedContext) -> None:
        self._ranks = ranks
        self._variables: list[Any] = []
        self.additive: Callable[[Any], bool] = lambda variable: True

    def begin(self) -> None:
        found = v1.get_collection(v1.GraphKeys.METRIC_VARIABLES)
        unique = {variable.name: variable for variable in found if self.additive(variable)}
        self._variables = [unique[name] for name in sorted(unique) if _counts(unique[name])]

    def end(self, session: Any) -> None:
        if not self._variables:
            return
        parts = self._ranks.allgather(session.run(self._variables))
        sums = [np.sum(values, axis=0, dtype=values[0].dtype) for values in zip_strict(*parts)]
        _exchange.load(session, self._variables, sums)


def keras_metrics_not_additive(metric_ops: Mapping[str, Any] | None) -> set[str]:
    """The names of the variables of user-defined Keras metrics, which may not be additive."""
    names: set[str] = set()
    for metric in (metric_ops or {}).values():
        if isinstance(metric, tf.keras.metrics.Metric) and not type(metric).__module__.startswith("keras."):
            names.update(variable.name for variable in metric.variables)
    return names


def over_ranks(metrics: Mapping[str, Any], ranks: DistributedContext) -> dict[str, Any]:
    """The mean of each numeric metric over ranks. Metrics that are equal on all ranks are returned unchanged."""
    by_rank = ranks.allgather(dict(metrics))
    result: dict[str, Any] = {}
    for name, value in metrics.items():
        values = [found.get(name) for found in by_rank]
        if all(isinstance(one, (numbers.Number, np.ndarray, np.generic)) for one in values):
            same = all(np.array_equal(one, value, equal_nan=True) for one in values)
            result[name] = value if same else np.mean(np.array(values, dtype=float), axis=0)
        else:
            if ranks.is_chief and any(one != value for one in values):
                logger.warning("validation metric %r is not a number; the value of rank 0 is reported", name)
            result[name] = by_rank[0].get(name)
    return result


def _counts(variable: Any) -> bool:
    dtype = variable.dtype.base_dtype
    return bool(dtype.is_floating or dtype.is_integer)
