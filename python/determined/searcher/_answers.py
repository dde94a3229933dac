"""Checks what a search method returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from determined.searcher._method import Operation


def operations_of(answer: Any, method: str) -> list[Operation]:
    """Returns the operations that ``method`` returned.

    Raises:
        TypeError: it returned something else; the message shows it.
    """
    expected = "must return a list of Create, ValidateAfter, Close and Shutdown; [] for nothing to do"
    if isinstance(answer, (str, bytes, Mapping)) or not isinstance(answer, Iterable):
        raise TypeError(f"{method} returned {answer!r}; it {expected}")
    operations = list(answer)
    for operation in operations:
        if not isinstance(operation, Operation):
            raise TypeError(f"{method} returned a list with {operation!r} in it; it {expected}")
    return operations


def progress_of(answer: Any, method: str) -> float:
    """Returns a number from 0 to 1; 0 if the method does not know.

    Raises:
        TypeError: ``method`` did not return a number.
    """
    try:
        if isinstance(answer, str):
            raise TypeError
        fraction = float(answer)
    except (TypeError, ValueError):
        raise TypeError(f"{method} returned {answer!r}; it must return a number from 0 to 1") from None
    return min(max(fraction, 0.0), 1.0) if math.isfinite(fraction) else 0.0
