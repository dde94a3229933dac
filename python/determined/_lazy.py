"""Packages that import TensorFlow only when one of their names is used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a ``__getattr__`` for ``package``: ``homes`` maps a name to its module; other names are modules of the
    package.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        importlib.import_module("determined._tensorflow._framework")  # fails with a helpful message
        if not homes[name]:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return get
