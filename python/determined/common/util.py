"""Small functions for programs that use the platform."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yields ``items`` in order, ``size`` at a time; the last part may be shorter.

    Raises:
        ValueError: ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    for start in range(0, len(items), size):
        yield items[start : start + size]


def sizeof_fmt(number: float) -> str:
    """Formats a number of bytes for people: ``1536`` is ``1.5KB``."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(number) < 1024:
            return f"{number:.1f}{unit}"
        number /= 1024
    return f"{number:.1f}PB"


def get_default_master_address() -> str:
    """The master in the environment (``DET_MASTER``), or else the one on this machine."""
    from determined.common.api import master_url  # not for every trial that asks debug_mode()

    return master_url()


def debug_mode() -> bool:
    """Whether ``DET_DEBUG`` asks for debug output."""
    return os.environ.get("DET_DEBUG", "").lower() in ("1", "true")
