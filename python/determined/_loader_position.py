"""Data loaders of PyTorch whose order and random numbers depend on nothing but their place in the training.

A loader fetches ahead of the training, and draws its order from the process's generators. So a training that resumes
would get other batches, and other random numbers in collators and transformations, than one that goes on.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from determined._run import _random_state


@contextlib.contextmanager
def seeded(*words: Any) -> Iterator[None]:
    """Draws random numbers that depend on these words, and leaves the process's generators as they were."""
    before = generators()
    number = int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:4], "little")
    _random_state.seed(number)
    torch.default_generator.manual_seed(number)  # torch.manual_seed would also seed the GPUs
    try:
        yield
    finally:
        restore_generators({name: state for name, state in before.items() if name != "cuda"})


def generators(*, gpus: bool = False) -> dict[str, Any]:
    """The states of the process's generators."""
    found = {**_random_state.state(), "torch": torch.get_rng_state()}
    return {**found, "cuda": torch.cuda.get_rng_state_all()} if gpus and torch.cuda.is_available() else found


def restore_generators(states: dict[str, Any]) -> None:
    """Restores what :func:`generators` returned."""
    _random_state.restore(states)
    torch.set_rng_state(states["torch"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])


class SeededBatches:
    """A map-style data set around another one. What is drawn for a batch depends on its epoch and its records."""

    def __init__(self, inner: Any, seed: int, collate: Callable[[Any], Any]) -> None:
        self._inner = inner
        self._seed = seed
        self._collate = collate
        self._drawing: contextlib.ExitStack | None = None
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
        self._drawing = contextlib.ExitStack()  # until the records are collated
        self._drawing.enter_context(seeded(self._seed, self.epoch, list(indices)))
        several = getattr(self._inner, "__getitems__", None)
        return several(indices) if several is not None else [self._inner[index] for index in indices]

    def collate(self, records: Any) -> Any:
        drawing, self._drawing = self._drawing or contextlib.ExitStack(), None
        with drawing:
            return self._collate(records)


def seed_batches(loader: Any, seed: int) -> SeededBatches | None:
    """Makes the batches of a loader independent of when they are fetched, and returns its new data set; None for an
    iterable data set, which can only be read in order.
    """
    inner = getattr(loader, "base_dataloader", loader)  # Accelerate's
    if not isinstance(inner, torch.utils.data.DataLoader) or inner.batch_sampler is None:
        return None
    if isinstance(inner.dataset, torch.utils.data.IterableDataset):
        return None
    if isinstance(inner.dataset, SeededBatches):
        return inner.dataset
    data = SeededBatches(inner.dataset, seed, inner.collate_fn)
    object.__setattr__(inner, "dataset", data)  # PyTorch forbids the plain assignment
    inner.collate_fn = data.collate
    return data


class Position:
    """A batch sampler around another one, with an order that depends on the epoch, from any batch on."""

    def __init__(self, inner: Any, seed: int, data: SeededBatches) -> None:
        self._inner = inner
        self._seed = seed
        self._data = data
        self._skip = 0

    def begin(self, epoch: int, batches: int = 0) -> None:
        """The next iteration is one of ``epoch``, without its first ``batches``."""
        self._data.epoch, self._skip = epoch, batches

    def __len__(self) -> int:
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __iter__(self) -> Iterator[Any]:
        skip, self._skip = self._skip, 0
        batches = iter(self._inner)
        with seeded(self._seed, self._data.epoch, "order"):
            first = list(itertools.islice(batches, 1))  # samplers draw when they are asked for the first batch
        yield from itertools.islice(itertools.chain(first, batches), skip, None)


def control(loader: Any, seed: int) -> Position | None:
    """Makes a loader start at any batch of any epoch; None where it cannot: for an iterable data set, or a loader that
    keeps its position itself.
    """
    if hasattr(loader, "state_dict"):
        return None
    if isinstance(getattr(loader, "batch_sampler", None), Position):
        found: Position = loader.batch_sampler
        return found
    data = seed_batches(loader, seed)
    if data is None:
        return None
    position = Position(loader.batch_sampler, seed, data)
    object.__setattr__(loader, "batch_sampler", position)
    if loader.generator is None:  # it draws a seed for worker processes at each epoch
        loader.generator = torch.Generator().manual_seed(seed)
    loader._iterator = None  # that of persistent workers
    return position
