"""All random number generators of the training: seeding, saving and restoring."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from determined._run import _random_state

logger = logging.getLogger("determined.pytorch")


def derive(seed: int, *path: int | str) -> int:
    """A seed of 63 bits for one purpose: equal for equal arguments, unrelated for different ones."""
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def seed_all(seed: int) -> None:
    """Seeds Python, NumPy and PyTorch (all devices)."""
    _random_state.seed(seed)
    torch.manual_seed(seed)


def state() -> dict[str, Any]:
    """The state of all generators of this process, under the names that older checkpoints use."""
    saved: dict[str, Any] = {"cpu_rng_state": torch.get_rng_state(), **_random_state.state()}
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        saved["gpu_rng_state"] = torch.cuda.get_rng_state()
    return saved


def restore(saved: dict[str, Any]) -> None:
    """Restores what ``state`` returned."""
    torch.set_rng_state(saved["cpu_rng_state"])
    _random_state.restore(saved)
    if "gpu_rng_state" in saved and torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["gpu_rng_state"])


def restore_saved(saved: dict[str, Any]) -> None:
    """Like ``restore``, for a checkpoint that may come from another machine; logs what could not be restored."""
    restore(saved)
    if "gpu_rng_state" in saved and not torch.cuda.is_available():
        logger.warning(
            "the checkpoint was saved on a GPU, and this machine has none: the state of the GPU's random number "
            "generator is ignored"
        )
    elif "gpu_rng_state" not in saved and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        logger.warning("the checkpoint was saved without a GPU: the GPU's random number generator starts from the seed")


def untouched() -> AbstractContextManager[None]:
    """Restores the generators afterwards, whatever is drawn inside."""
    return _random_state.unchanged(state, restore)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws inside come from the given seed; the generators are restored afterwards.

    Only the CPU's generators: samplers and data sets, which need this, do not draw on a GPU.
    """
    before, shared = torch.get_rng_state(), _random_state.state()
    try:
        seed_cpu(seed)
        yield
    finally:
        torch.set_rng_state(before)
        _random_state.restore(shared)


class Stream:
    """Generators of its own: draws inside continue where the previous ones ended.

    The generators outside are unchanged. Only the CPU's, as in ``seeded``.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._inside: Any = None
        self._outside: Any = None

    def __enter__(self) -> None:
        self._outside = torch.get_rng_state(), _random_state.state()
        if self._inside is None:
            seed_cpu(self._seed)
        else:
            self._put(self._inside)

    def __exit__(self, *_: object) -> None:
        self._inside = torch.get_rng_state(), _random_state.state()
        self._put(self._outside)

    @staticmethod
    def _put(states: Any) -> None:
        torch.set_rng_state(states[0])
        _random_state.restore(states[1])


def seed_cpu(seed: int) -> None:
    """Seeds the generators that draw on the CPU."""
    _random_state.seed(seed)
    torch.default_generator.manual_seed(seed)
