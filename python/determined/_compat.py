"""What later versions of Python have, for those from 3.9 on."""

from __future__ import annotations

import enum
import functools
import hashlib
import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 11):
    from enum import StrEnum as StrEnum
    from hashlib import file_digest as file_digest
    from itertools import pairwise as pairwise
    from typing import dataclass_transform as dataclass_transform
else:

    class StrEnum(str, enum.Enum):
        """Members are texts, also where they are printed."""

        __str__ = str.__str__
        __format__ = str.__format__

    def file_digest(file: IO[bytes], name: str) -> Any:
        digest = hashlib.new(name)
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
        return digest

    def pairwise(values: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        left, right = itertools.tee(values)
        next(right, None)
        return zip(left, right)

    def dataclass_transform(**_: Any) -> Any:
        return lambda cls: cls


if TYPE_CHECKING or sys.version_info >= (3, 10):
    zip_strict = zip if TYPE_CHECKING else functools.partial(zip, strict=True)
else:
    _MISSING = object()

    def zip_strict(*iterables: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """`zip` that raises ValueError where one is shorter than another."""
        for values in itertools.zip_longest(*iterables, fillvalue=_MISSING):
            if any(value is _MISSING for value in values):
                raise ValueError("zip() arguments have different lengths")
            yield values
