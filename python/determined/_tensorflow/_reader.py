"""Reads cached data sets on the slots of a trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from determined._tensorflow._cache import Cache
from determined._tensorflow._framework import tf
from determined.common import check

_BLOCK_RECORDS = 256
_BLOCK_BYTES = 1 << 20


class Reader:
    """Reads a cached data set on one slot of a trial.

    The order of an epoch depends only on (seed, epoch), and each slot reads a share of it. For training, epochs are
    repeated endlessly, and each leaves out the records that the slots cannot share evenly.
    """

    def __init__(
        self, cache: Cache, *, seed: int, rank: int, size: int, shuffle: bool, reshuffle: bool, training: bool
    ) -> None:
        self._cache = cache
        self._seed = seed
        self._rank = rank
        self._size = size
        self._shuffle = shuffle
        self._reshuffle = reshuffle
        self._training = training
        self.start = 0
        """The number of records of this slot's stream to skip at the start."""
        if training:
            check.gt_eq(cache.count, size, "a cached data set needs at least one record per slot")

    def share(self, epoch: int) -> Any:
        """The numbers of this slot's records in an epoch."""
        count = self._cache.count
        order = np.arange(count)
        if self._shuffle:
            number = epoch if self._reshuffle else 0
            order = np.random.Generator(np.random.Philox(key=[self._seed, number])).permutation(count)
        mine = order[self._rank :: self._size]
        return mine[: count // self._size] if self._training else mine

    def blocks(self) -> Iterator[Any]:
        """The numbers of this slot's records from ``start`` on, in blocks."""
        size = max(1, min(_BLOCK_RECORDS, _BLOCK_BYTES // self._cache.record_bytes))
        epoch, place = divmod(self.start, self._cache.count // self._size) if self._training else (0, 0)
        while True:
            share = self.share(epoch)
            for at in range(place, len(share), size):
                yield share[at : at + size]
            if not self._training:
                return
            epoch, place = epoch + 1, 0

    def dataset(self) -> Any:
        """A ``tf.data.Dataset`` of the records. It calls Python once per block of records."""
        layout = self._cache.layout
        blocks = tf.data.Dataset.from_generator(
            lambda: map(self._cache.block, self.blocks()), output_signature=layout.block_spec()
        )
        dataset = layout.unpacked(blocks)
        dataset.reads_cache = True
        return dataset


def can_jump(dataset: Any, batch_size: int) -> bool:
    """Whether batch n of a data set has ``batch_size`` records of its ``Reader``, from number n × ``batch_size`` on."""
    batched = False
    while not getattr(dataset, "reads_cache", False):
        inner = getattr(dataset, "_dataset", None)  # the wrapper of tf.compat.v1.data
        if inner is not None:
            dataset = inner
            continue
        name = type(dataset).__name__.lower().removeprefix("_")
        if "batch" in name and "unbatch" not in name:
            size = tf.get_static_value(getattr(dataset, "_batch_size", None))
            if batched or size is None or int(size) != batch_size:
                return False
            batched = True
        elif (
            not any(word in name for word in ("map", "prefetch", "options", "adapter"))
            or "flatmap" in name
            or "group" in name
        ):
            return False
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return False
        dataset = inputs[0]
    return batched
