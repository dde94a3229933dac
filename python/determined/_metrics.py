"""Metrics on their way to the master: plain values, averages, JSON."""

from __future__ import annotations

import contextlib
import datetime
import enum
import json
import math
import numbers
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from determined import _arguments
from determined._compat import zip_strict


def to_json(metrics: Any, name: str = "metrics") -> str:
    """Returns metrics as JSON. NaN and infinities become strings, as everywhere in the platform.

    Raises:
        TypeError: JSON cannot represent a value; the message names it, beginning with ``name``.
    """
    with naming(**{name: metrics}):
        try:
            return json.dumps(metrics, allow_nan=False, default=_plain)
        except ValueError:
            return json.dumps(_finite(metrics), allow_nan=False, default=lambda value: _finite(_plain(value)))


@contextlib.contextmanager
def naming(**arguments: Any) -> Iterator[None]:
    """A context manager: if JSON cannot represent a value of these arguments, the error names the argument and the
    value.
    """
    try:
        yield
    except TypeError:
        for name, value in arguments.items():
            _refuse_odd(value, name)
        raise


def _refuse_odd(value: Any, name: str) -> None:
    """Raises TypeError for the first nested value or key that JSON cannot represent."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, (str, int, float, bool)) and key is not None:
                raise TypeError(f"{name} has the key {key!r}; keys must be strings")
            _refuse_odd(inner, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            _refuse_odd(inner, f"{name}[{place}]")
    elif not isinstance(value, (str, int, float)) and value is not None:
        try:
            plain = _plain(value)
        except TypeError:
            raise TypeError(
                f"{name} is a value of the type {type(value).__name__}, which JSON cannot represent; it must be a "
                "number, a tensor or text, or a list or dict of them"
            ) from None
        if plain is not value:
            _refuse_odd(plain, name)


def _plain(value: Any) -> Any:
    """Converts values that ``json`` does not know: NumPy, times, enumerators, ids, and objects with ``__json__``."""
    if hasattr(value, "__json__"):
        return value.__json__()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return value.tolist()
    if isinstance(value, (bytes, bytearray)):
        return value.decode(errors="replace")
    raise TypeError(f"a value of the type {type(value).__name__} has no JSON form")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    return _finite(_plain(value))


def averages(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of each metric over batches, with the same weight for each batch; None if it has no mean."""
    if not rows:
        return {}
    return {name: _average([row[name] for row in rows if row[name] is not None]) for name in rows[0]}


def mean_over_ranks(by_rank: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The metrics of each batch, averaged over ranks. None is skipped; for values without a mean, the chief's is used.

    Raises:
        ValueError: the ranks report different metrics.
    """
    for rank, rows in enumerate(by_rank):
        for mine, theirs in zip_strict(by_rank[0], rows):
            if mine.keys() != theirs.keys():
                raise ValueError(
                    f"a batch has the training metrics {sorted(theirs)} on rank {rank} and {sorted(mine)} on rank 0; "
                    "they must be the same on every rank"
                )
    return [
        {name: _mean([rows[number][name] for rows in by_rank]) for name in row} for number, row in enumerate(by_rank[0])
    ]


def _mean(values: list[Any]) -> Any:
    there = [value for value in values if value is not None]
    if not there:
        return None
    if all(type(value) in (float, int, bool) for value in there):
        return float(sum(there) / len(there))
    try:
        import numpy as np

        return np.mean(np.array(there, dtype=float), axis=0)
    except (ValueError, TypeError):
        return values[0]


def _average(values: list[Any]) -> float | None:
    if not values:
        return None
    if all(type(value) in (float, int, bool) for value in values):
        return float(sum(values) / len(values))
    try:
        import numpy as np

        return float(np.mean(np.array(values, dtype=float)))
    except (ValueError, TypeError):
        return None


def searcher_value(name: str | None, metrics: Mapping[str, Any]) -> float:
    """Returns the searcher's validation metric.

    Raises:
        ValueError: the metric is missing or not a number; the message lists the existing ones.
    """
    if name is None:
        raise ValueError(
            "searcher.metric is missing from the experiment configuration; set it to the name of a validation metric"
        )
    if name not in metrics:
        found = ", ".join(sorted(metrics)) or "none"
        raise ValueError(f"searcher.metric is {name!r}, which is not among the validation metrics: {found}")
    value = metrics[name]
    if getattr(value, "ndim", 0) != 0 or isinstance(value, (str, bytes, Mapping, list, tuple)) or value is None:
        raise ValueError(f"validation metric {name!r} is {value!r}; the searcher needs a number")
    try:
        return float(_arguments.detached(value))
    except (TypeError, ValueError):
        raise ValueError(f"validation metric {name!r} is {value!r}; the searcher needs a number") from None


def check_validation(metrics: Mapping[str, Any], warn: Any) -> dict[str, Any]:
    """Returns the validation metrics that can be reported. None raises an error; bytes are dropped with a warning."""
    missing = [name for name, value in metrics.items() if value is None]
    if missing:
        raise ValueError(f"no value for these validation metrics: {', '.join(missing)}")
    kept = {}
    for name, value in metrics.items():
        if isinstance(value, (bytes, bytearray)):
            warn("validation metric %r is bytes and is not reported; return a number", name)
        else:
            kept[name] = value
    return kept
