"""Checks the arguments of callers: converts them, or raises an error with their name, their value and the rule."""

from __future__ import annotations

import enum
import numbers
from typing import Any, TypeVar

E = TypeVar("E", bound=enum.Enum)


def choice(kind: type[E], value: Any, name: str) -> E:
    """Returns ``value`` as a member of an enumeration; accepts a member, its value or its name.

    Raises:
        ValueError: it is not a member; the message lists the members.
    """
    for one in kind:
        if value is one or (isinstance(value, str) and value in (one.value, one.name)):
            return one
    known = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
    raise ValueError(f"{name} is {value!r}; it must be one of {known}")


def whole(value: Any, name: str, rule: str = "must be a whole number, 0 or more", least: int | None = 0) -> int:
    """Returns ``value`` as an int; accepts whole numbers of Python, NumPy and tensors, including floats.

    Raises:
        ValueError: it is not a whole number, or it is less than ``least``.
    """
    number, found = _number(value), None
    if isinstance(number, numbers.Integral):
        found = int(number)
    elif number is not None and float(number).is_integer():
        found = int(float(number))
    if found is None or (least is not None and found < least):
        raise ValueError(f"{name} is {value!r}; it {rule}")
    return found


def real(value: Any, name: str, rule: str = "must be a number") -> float:
    """Returns ``value`` as a float.

    Raises:
        ValueError: it is not a number.
    """
    number = _number(value)
    if number is None:
        raise ValueError(f"{name} is {value!r}; it {rule}")
    return float(number)


def detached(value: Any) -> Any:
    """Detaches a tensor, which would otherwise warn when converted to a number; returns anything else unchanged."""
    return value.detach() if getattr(value, "requires_grad", False) is True else value


def _number(value: Any) -> numbers.Real | None:
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = detached(value).item()
    return value if isinstance(value, numbers.Real) and not isinstance(value, bool) else None
