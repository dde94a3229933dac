"""Endless passes over a loader of another class.

PyTorch's iterator draws a seed for its workers when it is created, samplers draw an order when they start, and iterable
data sets shuffle their files. A resumed trial creates an iterator in the middle of a pass, where an uninterrupted one
creates none. So the random numbers for the order of the data must not come from the generators that dropout uses. They
come from a stream of the pass, which is the same on all ranks, so that they can share one shuffled order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import torch.utils.data

from determined.common import check
from determined.pytorch import _rng

_SHUFFLE_AT_THE_START = (torch.utils.data.RandomSampler, torch.utils.data.SequentialSampler)


def endless(loader: Iterable[Any], *, seed: int, first: int) -> Iterator[Any]:
    """The batches of all passes from pass ``first`` on, each as the loader starts it."""
    for number in itertools.count(first):
        empty = True
        for batch in _one_pass(loader, _rng.Stream(_rng.derive(seed, "training", "pass", number))):
            empty = False
            yield batch
        if empty:
            check.fail("a training data loader without batches", "at least one batch")


def _one_pass(loader: Iterable[Any], stream: _rng.Stream) -> Iterator[Any]:
    with stream:
        iterator: Any = iter(loader)
    if not isinstance(loader, torch.utils.data.DataLoader) or not hasattr(iterator, "_sampler_iter"):
        return _Inside(iterator, stream)
    batches: Iterator[Any] = iterator
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return batches if loader.num_workers > 0 else _Inside(batches, stream)
    # The records themselves are read under the generators of the training, as our own loader reads them.
    sampler = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    iterator._sampler_iter = _Inside(iterator._sampler_iter, stream, once=_draws_once(sampler))
    return batches


def _draws_once(sampler: Any) -> bool:
    """Whether a sampler is known to draw nothing after its first item."""
    inner = sampler.sampler if type(sampler) is torch.utils.data.BatchSampler else sampler
    return type(inner) in _SHUFFLE_AT_THE_START


class _Inside:
    """An iterator that draws from a stream; with ``once`` only for its first item."""

    def __init__(self, iterator: Iterator[Any], stream: _rng.Stream, *, once: bool = False) -> None:
        self._iterator, self._stream, self._once = iterator, stream, once
        self._started = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._once and self._started:
            return next(self._iterator)
        self._started = True
        with self._stream:
            return next(self._iterator)
