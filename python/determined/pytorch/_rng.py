"""Every random generator that training touches: seeding, saving, restoring, setting aside."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


def derive(seed: int, *path: int | str) -> int:
    """A seed of 63 bits for one use: equal for equal arguments, unrelated for different ones."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def seed_all(seed: int) -> None:
    """Seeds Python, NumPy and PyTorch (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def state() -> dict[str, Any]:
    """The state of all generators of this process; the names are those of older checkpoints."""
    saved: dict[str, Any] = {
        "cpu_rng_state": torch.get_rng_state(),
        "np_rng_state": np.random.get_state(),
        "random_rng_state": random.getstate(),
    }
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        saved["gpu_rng_state"] = torch.cuda.get_rng_state()
    return saved


def restore(saved: dict[str, Any]) -> None:
    """Puts back what ``state`` returned."""
    torch.set_rng_state(saved["cpu_rng_state"])
    np.random.set_state(saved["np_rng_state"])
    random.setstate(saved["random_rng_state"])
    if "gpu_rng_state" in saved and torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["gpu_rng_state"])


@contextlib.contextmanager
def untouched() -> Iterator[None]:
    """Whatever is drawn inside, the generators are afterwards as before."""
    before = state()
    try:
        yield
    finally:
        restore(before)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws inside come from a seed of their own; the generators are afterwards as before.

    Only the CPU's generators: what needs this (samplers, data sets) does not draw on a GPU.
    """
    before = (torch.get_rng_state(), np.random.get_state(), random.getstate())
    try:
        seed_cpu(seed)
        yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])
        random.setstate(before[2])


def seed_cpu(seed: int) -> None:
    """Seeds the generators that draw on the CPU."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)
