"""The random number generators that all kinds of trials use: Python's and NumPy's."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def seed(number: int) -> None:
    """Seeds the generators; NumPy uses 32 bits of the number."""
    random.seed(number)
    np.random.seed(number % 2**32)


def state() -> dict[str, Any]:
    """Returns their state, under the names used in checkpoints."""
    return {"np_rng_state": np.random.get_state(), "random_rng_state": random.getstate()}


def restore(saved: dict[str, Any]) -> None:
    """Restores what ``state`` returned."""
    np.random.set_state(saved["np_rng_state"])
    random.setstate(saved["random_rng_state"])


@contextlib.contextmanager
def unchanged(state: Callable[[], dict[str, Any]], restore: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Restores the generators of ``state`` afterwards, whatever is drawn inside."""
    before = state()
    try:
        yield
    finally:
        restore(before)
