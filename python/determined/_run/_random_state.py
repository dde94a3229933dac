"""The generators that every family of trials shares: Python's and NumPy's."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def seed(number: int) -> None:
    """Seeds them; NumPy takes 32 bits of the number."""
    random.seed(number)
    np.random.seed(number % 2**32)


def state() -> dict[str, Any]:
    """Their state, under the names that checkpoints have it by."""
    return {"np_rng_state": np.random.get_state(), "random_rng_state": random.getstate()}


def restore(saved: dict[str, Any]) -> None:
    """Puts back what ``state`` returned."""
    np.random.set_state(saved["np_rng_state"])
    random.setstate(saved["random_rng_state"])


@contextlib.contextmanager
def unchanged(state: Callable[[], dict[str, Any]], restore: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Whatever is drawn inside, the generators that ``state`` knows are afterwards as before."""
    before = state()
    try:
        yield
    finally:
        restore(before)
