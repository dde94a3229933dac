"""Samplers to compose an order of data from: shuffle, repeat, shard, batch and skip, in this order.

The data loader of :mod:`determined.pytorch` does all of this itself; these are for trials with a custom sampler. Each
passes ``set_epoch`` on to the sampler that it wraps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch.utils.data


def set_epoch(sampler: Any, epoch: int) -> bool:
    """Tells a sampler the next epoch, if it has a method for that."""
    tell = getattr(sampler, "set_epoch", None)
    if not callable(tell):
        return False
    tell(epoch)
    return True


def repeats(loader: Any) -> bool:
    """Whether a loader or a sampler never ends, because it contains a repeating sampler of this module."""
    at = loader
    for _ in range(20):
        if at is None or isinstance(at, _Repeat):
            break
        within = (getattr(at, name, None) for name in ("batch_sampler", "sampler", "_inner"))
        at = next((inner for inner in within if inner is not None), None)
    return isinstance(at, _Repeat)


def sharded_length(length: int, replicas: int, rank: int) -> int:
    """How many of ``length`` items rank ``rank`` gets when they are distributed in turn."""
    return length // replicas + (1 if length % replicas > rank else 0)


class _Wrapper:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def set_epoch(self, epoch: int) -> None:
        set_epoch(self._inner, epoch)

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class _Repeat(_Wrapper):
    def __iter__(self) -> Iterator[Any]:
        while True:
            empty = True
            for item in self._inner:
                empty = False
                yield item
            if empty:
                return


class _Distribute(_Wrapper):
    def __init__(self, inner: Any, num_workers: int, rank: int) -> None:
        super().__init__(inner)
        if num_workers < 1:
            raise ValueError(f"num_workers is {num_workers}; it must be at least 1")
        if not 0 <= rank < num_workers:
            raise ValueError(f"rank is {rank}; it must be from 0 to {num_workers - 1}")
        self._replicas = num_workers
        self._rank = rank

    def __len__(self) -> int:
        return sharded_length(len(self._inner), self._replicas, self._rank)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._inner), self._rank, None, self._replicas)


class _Skip(_Wrapper):
    def __init__(self, inner: Any, skip: int) -> None:
        super().__init__(inner)
        if skip < 0:
            raise ValueError(f"skip is {skip}; it must not be negative")
        self._skip = skip

    def __len__(self) -> int:
        """The length; for an endless sampler, that of an epoch."""
        return len(self._inner) if repeats(self._inner) else max(0, len(self._inner) - self._skip)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._inner), self._skip, None)


class _Shuffle(_Wrapper):
    """Shuffles with a ``numpy.random.RandomState(seed)`` that continues from epoch to epoch, like the original's."""

    def __init__(self, inner: Any, seed: int) -> None:
        super().__init__(inner)
        self._seed = seed % 2**32
        self._epoch = 0
        self._chance = np.random.RandomState(self._seed)
        self._drawn = 0

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        items = list(self._inner)
        if self._drawn > self._epoch:
            self._chance, self._drawn = np.random.RandomState(self._seed), 0
        while self._drawn < self._epoch:  # what is drawn for an epoch depends on the number of items alone
            self._chance.shuffle([0] * len(items))
            self._drawn += 1
        self._chance.shuffle(items)
        self._drawn += 1
        self._epoch += 1
        return iter(items)


class RepeatSampler(_Repeat, torch.utils.data.Sampler[Any]):
    """Repeats a sampler endlessly. Its length stays that of one pass."""

    def __init__(self, sampler: Iterable[Any]) -> None:
        super().__init__(sampler)


class RepeatBatchSampler(_Repeat, torch.utils.data.Sampler[Any]):
    """Like :class:`RepeatSampler`, for batches."""

    def __init__(self, batch_sampler: Iterable[Any]) -> None:
        super().__init__(batch_sampler)


class DistributedSampler(_Distribute, torch.utils.data.Sampler[Any]):
    """Yields every ``num_workers``-th record, from ``rank`` on."""

    def __init__(self, sampler: Iterable[Any], num_workers: int, rank: int) -> None:
        super().__init__(sampler, num_workers, rank)


class DistributedBatchSampler(_Distribute, torch.utils.data.Sampler[Any]):
    """Yields every ``num_workers``-th batch, from ``rank`` on."""

    def __init__(
        self, batch_sampler: Iterable[Any], num_workers: int | None = None, rank: int = 0, *, num_replicas: int = 1
    ) -> None:
        super().__init__(batch_sampler, num_replicas if num_workers is None else num_workers, rank)


class SkipSampler(_Skip, torch.utils.data.Sampler[Any]):
    """Skips the first ``skip`` records."""

    def __init__(self, sampler: Iterable[Any], skip: int) -> None:
        super().__init__(sampler, skip)


class SkipBatchSampler(_Skip, torch.utils.data.Sampler[Any]):
    """Skips the first ``skip`` batches. With ``same_length``, its length stays that of the wrapped sampler."""

    def __init__(self, batch_sampler: Iterable[Any], skip: int, same_length: bool = False) -> None:
        super().__init__(batch_sampler, skip)
        self._same_length = same_length

    def __len__(self) -> int:
        return len(self._inner) if self._same_length else super().__len__()


class ReproducibleShuffleSampler(_Shuffle, torch.utils.data.Sampler[Any]):
    """Yields the same records in another order in every epoch, depending on a seed."""

    def __init__(self, sampler: Iterable[Any], seed: int) -> None:
        super().__init__(sampler, seed)


class ReproducibleShuffleBatchSampler(_Shuffle, torch.utils.data.Sampler[Any]):
    """Yields the same batches in another order in every epoch, depending on a seed."""

    def __init__(self, batch_sampler: Iterable[Any], seed: int) -> None:
        super().__init__(batch_sampler, seed)


def adapt_batch_sampler(
    batch_sampler: Iterable[Any], repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> Any:
    """Repeats, shards and skips, in this order."""
    adapted: Any = batch_sampler
    if repeat:
        adapted = RepeatBatchSampler(adapted)
    if num_replicas > 1:
        adapted = DistributedBatchSampler(adapted, num_replicas, rank)
    if skip > 0:
        adapted = SkipBatchSampler(adapted, skip)
    return adapted
