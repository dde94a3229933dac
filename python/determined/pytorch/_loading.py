"""Turns the description of a data loader into iterators: for training, for validation, for one rank.

Worker processes and pinned memory are left to PyTorch's loader. It gets *keys* instead of indices: a key has the seed
of a batch besides its records, so a worker computes the same augmentations of a batch wherever the pass was started.
Without workers, a batch is made when it is requested, without the overhead of PyTorch's loader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import torch
import torch.utils.data

from determined.common import check
from determined.pytorch import _order, _passes, _rng, samplers
from determined.pytorch._data import DataLoader

Key = tuple[int, list[Any]]

UNKNOWN = sys.maxsize  # batches of an epoch that nobody can count: it never ends


def training_length(loader: Any, *, replicas: int, rank: int) -> int:
    """The number of batches of this rank in an epoch; ``UNKNOWN`` for an ``IterableDataset`` without a length."""
    try:
        batches = len(loader)
    except TypeError:
        return UNKNOWN
    check.gt(batches, 0, "the training data loader must have batches")
    return samplers.sharded_length(batches, replicas, rank) if isinstance(loader, DataLoader) else batches


def training_iterator(
    loader: Any, *, seed: int, start: int, replicas: int, rank: int, first: int | None = None
) -> Iterator[Any]:
    """This rank's training batches from its batch ``start`` on, endlessly.

    ``first`` is the number of batches of all ranks before, if it is not ``start`` on each of them. A loader of another
    class has to find its position in the pass itself. If its length is unknown, its passes are counted from the start
    of this process.
    """
    if not isinstance(loader, DataLoader):
        length = UNKNOWN if samplers.repeats(loader) else training_length(loader, replicas=replicas, rank=rank)
        return _passes.endless(loader, seed=seed, first=start // length)
    in_workers = loader.num_workers > 0
    before = start * replicas if first is None else first
    order = _order.training_batches(_epochs(loader, seed, "training"), first=before, replicas=replicas, rank=rank)

    def keys() -> Iterator[Key]:
        for position, indices in order:
            yield (_rng.derive(seed, "batch", position.epoch, position.batch) if in_workers else 0), indices

    return iter(_running(loader, _Keys(keys), _rng.derive(seed, "training", "workers")))


def validation_loader(loader: Any, *, seed: int, replicas: int, rank: int) -> Iterable[Any]:
    """This rank's validation batches; every pass is the same."""
    if not isinstance(loader, DataLoader):
        return cast(Iterable[Any], loader)
    batches = len(loader)
    if batches < replicas:
        check.fail(f"{batches} validation batches", f"at least one for each of {replicas} slots")
    epochs = _epochs(loader, seed, "validation")

    def keys() -> Iterator[Key]:
        batch = epochs.epoch(0)
        for number in range(rank, batches, replicas):
            yield _rng.derive(seed, "validation", number), batch(number)

    return _running(loader, _Keys(keys), _rng.derive(seed, "validation", "workers"))


def whole_validation_loader(loader: Any, *, seed: int) -> Any:
    """A PyTorch loader of the whole validation set, for ``evaluate_full_dataset``."""
    if not isinstance(loader, DataLoader):
        return loader
    generator = torch.Generator().manual_seed(_rng.derive(seed, "validation", "workers"))
    return loader.plain_loader(generator=generator, persistent_workers=False)


def records_of(loader: Any) -> int:
    """The number of records in one pass over a PyTorch loader, as far as it is known in advance; otherwise 0."""
    batches = getattr(loader, "batch_sampler", None)
    try:
        if type(batches) is torch.utils.data.BatchSampler:
            return len(batches) * batches.batch_size if batches.drop_last else len(batches.sampler)  # type: ignore[arg-type]
        if batches is not None:
            return len(loader) * int(getattr(batches, "batch_size", 0) or 0)
    except TypeError:  # of unknown length
        pass
    return 0


def _epochs(loader: DataLoader, seed: int, use: str) -> _order.Epochs:
    if loader.given_batch_sampler is None and loader.sampler is None:
        assert loader.batch_size is not None
        root = seed if loader.generator is None else _rng.derive(seed, loader.generator.initial_seed())
        return _order.PlainEpochs(
            records=len(loader.dataset),  # type: ignore[arg-type]
            batch_size=loader.batch_size,
            drop_last=loader.drop_last,
            shuffle=loader.shuffle,
            seed=_rng.derive(root, use),
        )
    return _order.SampledEpochs(loader.batch_sampler, _rng.derive(seed, use))


def _running(loader: DataLoader, keys: _Keys, seed: int) -> Iterable[Any]:
    batches = _Batches(loader.dataset, loader.collate_fn)
    options = dict(loader.options)
    if loader.num_workers == 0 and not options["pin_memory"]:
        return _InThisProcess(batches, keys)
    if loader.num_workers > 0:
        options["worker_init_fn"] = _WorkerStart(options["worker_init_fn"])
    return torch.utils.data.DataLoader(
        batches,
        batch_size=None,
        sampler=keys,
        collate_fn=_as_it_is,
        generator=torch.Generator().manual_seed(seed),
        **options,
    )


def _as_it_is(batch: Any) -> Any:
    return batch


class _Keys(torch.utils.data.Sampler[Any]):
    def __init__(self, start: Callable[[], Iterator[Key]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Key]:
        return self._start()


class _Batches(torch.utils.data.Dataset[Any]):
    """The user's data set in whole batches."""

    def __init__(self, dataset: Any, collate: Callable[[list[Any]], Any]) -> None:
        self.dataset = dataset
        self._collate = collate

    def __getitem__(self, key: Key) -> Any:
        seed, indices = key
        if torch.utils.data.get_worker_info() is not None:
            _rng.seed_cpu(seed)
        return self.of_records(indices)

    def of_records(self, indices: list[Any]) -> Any:
        whole = getattr(self.dataset, "__getitems__", None)
        records = whole(indices) if whole else [self.dataset[index] for index in indices]
        return self._collate(records)


class _InThisProcess:
    """Loads batches in this process, like PyTorch's loader without workers."""

    def __init__(self, batches: _Batches, keys: _Keys) -> None:
        self._batches, self._keys = batches, keys

    def __iter__(self) -> Iterator[Any]:
        return map(self._batches.of_records, (indices for _, indices in self._keys))


class _WorkerStart:
    """Runs the user's ``worker_init_fn``, which expects its own data set in the worker's description."""

    def __init__(self, start: Callable[[int], None] | None) -> None:
        self._start = start

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None and isinstance(info.dataset, _Batches):
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self._start is not None:
            self._start(worker)
