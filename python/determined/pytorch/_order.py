"""The order of training batches: a function of (seed, epoch) that can start at any position without replay.

All ranks see one endless sequence of batches, epoch after epoch; rank r of n takes the batches r, r + n, r + 2n, …
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import torch
import torch.utils.data

from determined.pytorch import _rng, samplers

Batch = list[Any]


class Epochs(Protocol):
    """One epoch of batches at a time. A batch is a list of indices of the data set."""

    def __len__(self) -> int:
        """The number of batches in an epoch."""

    def epoch(self, number: int) -> Callable[[int], Batch]:
        """The batches of an epoch, by their number in it."""


@dataclasses.dataclass(frozen=True)
class PlainEpochs:
    """Batches of a fixed size, in order or shuffled. An epoch is drawn at once; a batch is a slice of it."""

    records: int
    batch_size: int
    drop_last: bool
    shuffle: bool
    seed: int

    def __len__(self) -> int:
        return self.records // self.batch_size if self.drop_last else -(-self.records // self.batch_size)

    def epoch(self, number: int) -> Callable[[int], Batch]:
        size, records = self.batch_size, self.records
        if not self.shuffle:
            return lambda batch: list(range(batch * size, min((batch + 1) * size, records)))
        generator = torch.Generator().manual_seed(_rng.derive(self.seed, "shuffle", number))
        order = torch.randperm(records, generator=generator)
        return lambda batch: order[batch * size : (batch + 1) * size].tolist()


class SampledEpochs:
    """Batches of a user's sampler.

    Each epoch is drawn at once with a seed of its own, so a sampler that draws from the global generators, or from its
    own ``generator``, yields the same epoch again. Its epoch is set with ``set_epoch``, if it has that method. A custom
    sampler without ``set_epoch`` may count epochs itself, so after a jump its earlier epochs are drawn, too (only the
    indices).
    """

    def __init__(self, batch_sampler: Any, seed: int) -> None:
        self._batch_sampler = batch_sampler
        self._seed = seed
        self._drawn = 0
        self._chain = list(_chain(batch_sampler))
        self._keeps_count = any(map(_keeps_count, self._chain))
        self._generators = [
            (sampler.generator, sampler.generator.initial_seed())
            for sampler in self._chain
            if isinstance(getattr(sampler, "generator", None), torch.Generator)
        ]

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def epoch(self, number: int) -> Callable[[int], Batch]:
        if self._keeps_count:
            for earlier in range(self._drawn, number):
                self._draw(earlier)
            self._drawn = number + 1
        return self._draw(number).__getitem__

    def _draw(self, number: int) -> list[Batch]:
        wanted = len(self._batch_sampler)
        batches: list[Batch] = []
        for generator, root in self._generators:
            generator.manual_seed(_rng.derive(self._seed, "generator", root, number))
        with _rng.seeded(_rng.derive(self._seed, "sampler", number)):
            while len(batches) < wanted:
                for sampler in self._chain:
                    samplers.set_epoch(sampler, number)
                before = len(batches)
                batches.extend(itertools.islice(iter(self._batch_sampler), wanted - before))
                if len(batches) == before:
                    raise ValueError(
                        f"{type(self._batch_sampler).__name__} yields no batches in epoch {number}, "
                        f"although its length is {wanted}"
                    )
        return batches


def _chain(sampler: Any) -> Iterator[Any]:
    """A sampler and the samplers that it wraps."""
    seen: set[int] = set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        yield sampler
        sampler = getattr(sampler, "sampler", None) or getattr(sampler, "_inner", None)


def _keeps_count(sampler: Any) -> bool:
    known = type(sampler).__module__.startswith("torch.utils.data")
    return not known and not callable(getattr(sampler, "set_epoch", None))


class Position(NamedTuple):
    """The position of a batch of one rank: its epoch, and its number in the epoch."""

    epoch: int
    batch: int


def positions(epoch_length: int, *, first: int, replicas: int, rank: int) -> Iterator[Position]:
    """The positions of one rank's batches, endlessly, after the ``first`` batches of all ranks."""
    for index in itertools.count(first + rank, replicas):
        yield Position(*divmod(index, epoch_length))


def training_batches(epochs: Epochs, *, first: int, replicas: int, rank: int) -> Iterator[tuple[Position, Batch]]:
    """The batches of one rank, endlessly, after the ``first`` batches of all ranks."""
    current, batches = -1, None
    for position in positions(len(epochs), first=first, replicas=replicas, rank=rank):
        if batches is None or position.epoch != current:
            current, batches = position.epoch, epochs.epoch(position.epoch)
        yield position, batches(position.batch)
