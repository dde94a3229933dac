"""Turns the description of a data loader into running ones: for training, for validation, for one rank.

PyTorch's loader does the work where there is any: worker processes, pinned memory. It is handed *keys* instead of
indices: a key names the seed of a batch along with its records, so a worker gives the same augmentations for a batch no
matter where it was started. Elsewhere a batch is made when it is asked for, without the loader's own cost.
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
    """Batches of this rank in one epoch; ``UNKNOWN`` of an ``IterableDataset`` that has no length."""
    try:
        batches = len(loader)
    except TypeError:
        return UNKNOWN
    check.gt(batches, 0, "the training data loader must have batches")
    return samplers.sharded_length(batches, replicas, rank) if isinstance(loader, DataLoader) else batches


def training_iterator(loader: Any, *, seed: int, start: int, replicas: int, rank: int) -> Iterator[Any]:
    """This rank's training batches from its batch ``start`` on, for ever.

    Any other loader than ours finds its place in the pass itself; of a length that nobody knows, its passes are counted
    from where this process began.
    """
    if not isinstance(loader, DataLoader):
        length = UNKNOWN if samplers.repeats(loader) else training_length(loader, replicas=replicas, rank=rank)
        return _passes.endless(loader, seed=seed, first=start // length)
    in_workers = loader.num_workers > 0
    order = _order.training_batches(_epochs(loader, seed, "training"), start=start, replicas=replicas, rank=rank)

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
    """The whole validation set in a PyTorch loader, for ``evaluate_full_dataset``."""
    if not isinstance(loader, DataLoader):
        return loader
    generator = torch.Generator().manual_seed(_rng.derive(seed, "validation", "workers"))
    return loader.plain_loader(generator=generator, persistent_workers=False)


def records_of(loader: Any) -> int:
    """How many records one pass over a loader of PyTorch has, as far as that is known without one; else 0."""
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
    """The user's data set by whole batches."""

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
    """What PyTorch's loader does without workers."""

    def __init__(self, batches: _Batches, keys: _Keys) -> None:
        self._batches, self._keys = batches, keys

    def __iter__(self) -> Iterator[Any]:
        return map(self._batches.of_records, (indices for _, indices in self._keys))


class _WorkerStart:
    """Runs the user's ``worker_init_fn``, which expects to find its own data set in the worker's description."""

    def __init__(self, start: Callable[[int], None] | None) -> None:
        self._start = start

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None and isinstance(info.dataset, _Batches):
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self._start is not None:
            self._start(worker)
