"""How far a trial is in its training data, whatever number of slots it runs on.

All ranks share one endless sequence of batches. When a trial resumes on another number of slots, its batches may have
another size, and its epochs another length; then its position is the same record, in the same epoch.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from determined.pytorch._data import DataLoader

logger = logging.getLogger("determined.pytorch")


@dataclasses.dataclass(frozen=True)
class Progress:
    """The position of a run in the sequence of all ranks' batches."""

    first: int
    """The number of batches of the sequence before this run."""
    trained: int
    """The number of batches, over all ranks, that the trial had trained before this run."""
    replicas: int
    epoch_batches: int
    """Of the sequence, not of one rank."""
    batch_size: int | None
    """Records in one batch of the sequence; None where a sampler of the user's decides."""

    def state(self, trained: int) -> dict[str, Any]:
        """What a checkpoint after ``trained`` batches has of it."""
        return {
            "position": self.first + (trained - self.trained) * self.replicas,
            "replicas": self.replicas,
            "epoch_batches": self.epoch_batches,
            "batch_size": self.batch_size,
        }

    def epochs_ahead(self, epoch_length: int) -> int:
        """What to add to the number of a batch, so that its epoch follows from it; in batches of one rank.

        ``epoch_length``: the number of batches of one rank in an epoch. 0 unless the number of slots has changed.
        """
        if self.first == self.trained * self.replicas:
            return 0
        epoch, batch = divmod(self.first, self.epoch_batches)
        return epoch * epoch_length + batch // self.replicas - self.trained


def resumed(saved: dict[str, Any] | None, loader: Any, *, trained: int, replicas: int) -> Progress | None:
    """The position of a run that resumes from ``saved``, after ``trained`` batches of the trial; None for a loader of
    another class, which finds its position itself.
    """
    if not isinstance(loader, DataLoader):
        return None
    epoch_batches, batch_size = len(loader), loader.batch_size
    first = trained * replicas
    if saved is not None:
        first = _converted(saved, epoch_batches, batch_size)
    return Progress(first, trained, replicas, epoch_batches, batch_size)


def _converted(saved: dict[str, Any], epoch_batches: int, batch_size: int | None) -> int:
    position, former_epoch, former_size = int(saved["position"]), int(saved["epoch_batches"]), saved["batch_size"]
    if former_epoch == epoch_batches and former_size == batch_size:
        return position
    epoch, batch = divmod(position, former_epoch)
    if former_size is None or batch_size is None:  # as far into the epoch as before
        return epoch * epoch_batches + batch * epoch_batches // former_epoch
    records = batch * int(former_size)
    if records % batch_size:
        logger.warning(
            "the trial resumes with batches of %d records on a slot, after %d records of epoch %d: the last %d of them "
            "are trained again",
            batch_size,
            records,
            epoch,
            records % batch_size,
        )
    return epoch * epoch_batches + records // batch_size
