"""The data loader of trials: a description of a PyTorch loader, which the platform can shard and resume."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.utils.data

from determined.pytorch import samplers


class DataLoader:
    """A drop-in replacement for ``torch.utils.data.DataLoader``, with the same arguments.

    A trial returns one from ``build_training_data_loader`` and ``build_validation_data_loader``. The platform then
    gives every slot its share of the batches, repeats the training data endlessly, and resumes at the right batch after
    a pause. The order of a shuffled epoch depends on the trial's seed and the number of the epoch; the random numbers
    of a worker (``num_workers`` above 0) on the seed, the epoch and the batch. ``batch_size`` is the batch size of one
    slot: ``context.get_per_slot_batch_size()``.

    Outside a trial, it iterates like PyTorch's loader.
    """

    def __init__(
        self,
        dataset: torch.utils.data.Dataset[Any],
        batch_size: int | None = 1,
        shuffle: bool | None = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if isinstance(dataset, torch.utils.data.IterableDataset):
            raise ValueError(
                f"{type(dataset).__name__} is an IterableDataset, which can't be sharded or resumed at a batch; use a "
                "map-style data set, or call context.experimental.disable_dataset_reproducibility_checks() and "
                "return a torch.utils.data.DataLoader"
            )
        if num_workers < 0:
            raise ValueError(f"num_workers is {num_workers}; it must not be negative")
        if timeout < 0:
            raise ValueError(f"timeout is {timeout}; it must not be negative")
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        elif batch_size is None:
            raise ValueError("batch_size is None; a training loader needs batch_size or batch_sampler")
        elif batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
        if prefetch_factor is not None and num_workers == 0:
            raise ValueError("prefetch_factor needs num_workers above 0")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers needs num_workers above 0")
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.shuffle = bool(shuffle)
        self.sampler = sampler
        self.drop_last = drop_last
        self.collate_fn = collate_fn or torch.utils.data.default_collate
        self.num_workers = num_workers
        self.generator = generator
        self.given_batch_sampler = batch_sampler
        self.options: dict[str, Any] = {
            "num_workers": num_workers,
            "pin_memory": pin_memory and torch.cuda.is_available(),
            "timeout": timeout,
            "worker_init_fn": worker_init_fn,
            "multiprocessing_context": multiprocessing_context,
            "prefetch_factor": prefetch_factor,
            "persistent_workers": persistent_workers,
        }
        if not in_order:
            self.options["in_order"] = False
        if pin_memory_device:
            self.options["pin_memory_device"] = pin_memory_device

    @property
    def batch_sampler(self) -> Any:
        """Yields lists of indices, in the order of PyTorch's own loader."""
        if self.given_batch_sampler is not None:
            return self.given_batch_sampler
        sampler: Any = self.sampler
        if sampler is None and self.shuffle:
            sampler = torch.utils.data.RandomSampler(self.dataset, generator=self.generator)  # type: ignore[arg-type]
        elif sampler is None:
            sampler = torch.utils.data.SequentialSampler(self.dataset)  # type: ignore[arg-type]
        assert self.batch_size is not None
        return torch.utils.data.BatchSampler(sampler, self.batch_size, self.drop_last)

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> torch.utils.data.DataLoader[Any]:
        """Returns a PyTorch loader of the same data, repeated, sharded, and started at a batch."""
        return torch.utils.data.DataLoader(
            self.dataset,
            batch_sampler=samplers.adapt_batch_sampler(self.batch_sampler, repeat, skip, num_replicas, rank),
            collate_fn=self.collate_fn,
            generator=self.generator,
            **self.options,
        )

    def plain_loader(self, **changes: Any) -> torch.utils.data.DataLoader[Any]:
        """Returns a PyTorch loader with the same arguments, apart from the given changes."""
        arguments: dict[str, Any] = {"collate_fn": self.collate_fn, "generator": self.generator, **self.options}
        if self.given_batch_sampler is not None:
            arguments["batch_sampler"] = self.given_batch_sampler
        else:
            arguments.update(
                batch_size=self.batch_size, shuffle=self.shuffle, sampler=self.sampler, drop_last=self.drop_last
            )
        return torch.utils.data.DataLoader(self.dataset, **{**arguments, **changes})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain_loader())

    def __len__(self) -> int:
        """The number of batches in an epoch, over all slots."""
        return len(self.batch_sampler)
