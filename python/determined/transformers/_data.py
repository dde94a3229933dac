"""Batches whose random numbers depend on nothing but their place in the training.

A data loader fetches ahead of the training, so the random numbers of a collator or of a transformation would otherwise
depend on how far it was ahead when a checkpoint was saved.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class SeededBatches:
    """A map-style data set around another one. Fetching a batch does not change the process's generators."""

    def __init__(self, inner: Any, seed: int, collate: Callable[[Any], Any]) -> None:
        self._inner = inner
        self._seed = seed
        self._collate = collate
        self._before: tuple[Any, Any, Any] | None = None
        self.epoch = 0

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, index: Any) -> Any:
        return self._inner[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __getitems__(self, indices: list[Any]) -> Any:
        self._before = (random.getstate(), np.random.get_state(), torch.get_rng_state())
        text = f"{self._seed} {self.epoch} {list(indices)}"
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        random.seed(number)
        np.random.seed(number)
        torch.default_generator.manual_seed(number)  # torch.manual_seed would also seed the GPUs
        several = getattr(self._inner, "__getitems__", None)
        return several(indices) if several is not None else [self._inner[index] for index in indices]

    def collate(self, records: Any) -> Any:
        try:
            return self._collate(records)
        finally:
            if self._before is not None:
                state, numpy_state, torch_state = self._before
                random.setstate(state)
                np.random.set_state(numpy_state)
                torch.set_rng_state(torch_state)
                self._before = None


def seed_batches(loader: Any, seed: int) -> SeededBatches | None:
    """Makes the batches of a data loader independent of when they are fetched, and returns its new data set; None for
    an iterable data set, which can only be read in order.
    """
    inner = getattr(loader, "base_dataloader", loader)
    if not isinstance(inner, torch.utils.data.DataLoader) or isinstance(inner.dataset, torch.utils.data.IterableDataset):
        return None
    if inner.batch_sampler is None:
        return None
    if isinstance(inner.dataset, SeededBatches):
        return inner.dataset
    data = SeededBatches(inner.dataset, seed, inner.collate_fn)
    object.__setattr__(inner, "dataset", data)  # PyTorch forbids the plain assignment
    inner.collate_fn = data.collate
    return data
