"""Collects what ``train_batch`` returns, without waiting for a GPU at every batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from determined._compat import zip_strict
from determined.common import check


class _Later:
    """A scalar that is still being copied from a GPU."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


def plain(value: Any) -> Any:
    """Returns a tensor as a number or a NumPy array, an array as a copy, and anything else unchanged."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.dtype is torch.bfloat16:
            value = value.float()
        return value.item() if value.ndim == 0 else value.cpu().numpy().copy()
    return value.copy() if isinstance(value, np.ndarray) else value


class Collector:
    """The metrics of the batches of one workload."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._rows: list[dict[str, Any]] = []
        self._keys: Any = None
        self._later: list[_Later] = []

    def add(self, metrics: Mapping[str, Any], batch: int) -> None:
        keys = metrics.keys()
        if self._keys is None:
            self._keys = set(keys)
        elif keys != self._keys:
            check.fail(
                f"the metrics {sorted(keys, key=str)} at batch {batch}",
                f"the metrics {sorted(self._keys, key=str)} of the previous batches",
                f"{self._method} must return the same metrics for every batch",
            )
        row: dict[str, Any] = {}
        for name, value in metrics.items():
            if type(value) is float:
                row[name] = value
            elif isinstance(value, torch.Tensor) and value.ndim == 0:
                if value.is_cuda:
                    row[name] = later = _Later(value.detach().clone())
                    self._later.append(later)
                else:
                    row[name] = value.item()
            else:
                row[name] = plain(value)
        self._rows.append(row)

    def finish(self) -> list[dict[str, Any]]:
        """Returns all rows, with every value copied."""
        rows, self._rows = self._rows, []
        if self._later:
            arrived = self._fetch()
            for row in rows:
                for name, value in row.items():
                    if isinstance(value, _Later):
                        row[name] = arrived[id(value)]
            self._later = []
        return rows

    def _fetch(self) -> dict[int, Any]:
        by_kind: dict[tuple[torch.dtype, torch.device], list[_Later]] = {}
        for later in self._later:
            by_kind.setdefault((later.tensor.dtype, later.tensor.device), []).append(later)
        arrived: dict[int, Any] = {}
        for waiting in by_kind.values():
            values = torch.stack([later.tensor for later in waiting]).tolist()
            arrived.update((id(later), value) for later, value in zip_strict(waiting, values))
        return arrived
