"""Reduces the metrics of many batches to one number."""

from __future__ import annotations

import enum
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from determined._ranks._distributed import DistributedContext
from determined.common import check


class Reducer(enum.Enum):
    """The methods to reduce a metric over batches and slots."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


_FUNCTIONS: dict[Reducer, Callable[[Any], Any]] = {
    Reducer.AVG: np.mean,
    Reducer.SUM: np.sum,
    Reducer.MAX: np.max,
    Reducer.MIN: np.min,
}


def reduce_values(reducer: Reducer, values: Sequence[Any]) -> float:
    """Reduces the values of all batches to one number, over all elements, with equal weights of batches."""
    return float(_FUNCTIONS[reducer](np.array(values)))


def _reduce_metric(name: str, reducer: Reducer, values: Sequence[Any]) -> float:
    try:
        return reduce_values(reducer, values)
    except (TypeError, ValueError) as error:
        check.fail(
            f"{reprlib.repr(values[0])} for the metric {name!r}",
            f"numbers, which Reducer.{reducer.name} makes one of",
            f"result of evaluate_batch(): {error}",
        )
        raise AssertionError from error


def reduce_ranks(reducer: Reducer, values: Sequence[float], batches: Sequence[int]) -> float:
    """Reduces the values of all ranks to one number; an average weights each rank by its number of batches."""
    if reducer is Reducer.AVG:
        return float(np.average(np.array(values), weights=batches))
    return reduce_values(reducer, values)


def reducers_by_name(choice: Reducer | Mapping[str, Reducer], names: Sequence[str]) -> dict[str, Reducer]:
    """The result of ``evaluation_reducer()`` for every metric."""
    if isinstance(choice, Reducer):
        return dict.fromkeys(names, choice)
    if not isinstance(choice, Mapping):
        check.fail(
            f"a {type(choice).__name__}", "a Reducer or a dict from metric to Reducer", "result of evaluation_reducer()"
        )
    if set(choice) != set(names):
        check.fail(
            f"reducers for {sorted(choice, key=str)}",
            f"reducers for exactly the metrics {sorted(names, key=str)}",
            "evaluation_reducer() must name what evaluate_batch() returns",
        )
    for name, reducer in choice.items():
        if not isinstance(reducer, Reducer):
            check.fail(f"a {type(reducer).__name__}", "a Reducer", f"evaluation_reducer()[{name!r}]")
    return dict(choice)


def reduce_batches(
    choice: Reducer | Mapping[str, Reducer], per_batch: Sequence[Mapping[str, Any]], ranks: DistributedContext
) -> dict[str, float]:
    """Reduces the metrics of the batches of all ranks to those of a validation; the same on every rank."""
    names = list(per_batch[0]) if per_batch else []
    reducers = reducers_by_name(choice, names)
    mine = {name: _reduce_metric(name, reducers[name], [metrics[name] for metrics in per_batch]) for name in names}
    if ranks.size == 1:
        return mine
    of_ranks = ranks.allgather((mine, len(per_batch)))
    for rank, (found, _) in enumerate(of_ranks):
        if set(found) != set(of_ranks[0][0]):
            check.fail(
                f"the metrics {sorted(found, key=str)} on rank {rank}",
                f"the metrics {sorted(of_ranks[0][0], key=str)} of rank 0",
                "evaluate_batch() must return the same metrics on every rank",
            )
    batches = [count for _, count in of_ranks]
    return {name: reduce_ranks(reducers[name], [found[name] for found, _ in of_ranks], batches) for name in names}
