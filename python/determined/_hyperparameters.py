"""Hyperparameter ranges: functions that write them, and random values for runs outside a cluster."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

_RANGES = ("const", "int", "double", "log", "categorical")


def Constant(value: Any) -> dict[str, Any]:  # noqa: N802 - the user-facing name
    """A hyperparameter with one value."""
    return {"type": "const", "val": value}


def Integer(minval: int, maxval: int) -> dict[str, Any]:  # noqa: N802
    """A whole number between two bounds."""
    return {"type": "int", "minval": minval, "maxval": maxval}


def Double(minval: float, maxval: float) -> dict[str, Any]:  # noqa: N802
    """A number between two bounds."""
    return {"type": "double", "minval": minval, "maxval": maxval}


def Log(minval: float, maxval: float, base: float = 10) -> dict[str, Any]:  # noqa: N802
    """``base`` to a power between two bounds."""
    return {"type": "log", "minval": minval, "maxval": maxval, "base": base}


def Categorical(vals: Sequence[Any]) -> dict[str, Any]:  # noqa: N802
    """One of several values."""
    return {"type": "categorical", "vals": list(vals)}


def is_range(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") in _RANGES


def sample(hyperparameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Draws a value for every range, also nested ones. Used only if there is no searcher."""
    return _sample_all(hyperparameters, random.Random(seed))


def _sample_all(hyperparameters: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    return {name: _sample(name, hyperparameters[name], chance) for name in sorted(hyperparameters)}


def _sample(name: str, value: Any, chance: random.Random) -> Any:
    if not isinstance(value, Mapping):
        return value
    if not is_range(value):
        return _sample_all(value, chance)
    kind = value["type"]
    try:
        if kind == "const":
            return value["val"]
        if kind == "categorical":
            return chance.choice(list(value["vals"]))
        low, high = value["minval"], value["maxval"]
        if kind == "int":
            return chance.randint(int(low), int(high))
        draw = chance.uniform(float(low), float(high))
        return draw if kind == "double" else float(value.get("base", 10)) ** draw
    except KeyError as missing:
        raise ValueError(f"hyperparameters.{name} has the type {kind}, which needs {missing.args[0]}; add it") from None
