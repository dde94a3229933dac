"""Saves checkpoints, while the trial goes on where it can.

A checkpoint is written to a draft in the storage, published (hashed, synced, renamed) and only then reported. All that
happens on a thread. What the trial waits for is the copy of its state. At most one checkpoint is on its way.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import pathlib
from collections.abc import Callable
from typing import Any

from determined._run._background import Background
from determined._runtime_api import CheckpointStorage, Client
from determined._trial import Snapshot

logger = logging.getLogger("determined")


@dataclasses.dataclass(frozen=True)
class Pending:
    """A checkpoint that is to be saved."""

    uuid: str
    batches: int
    reason: str
    metadata_json: str
    """For the report."""
    description_json: str
    """The content of ``metadata.json``."""


class Saver:
    """Saves the checkpoints of one process, one after the other."""

    def __init__(self, client: Client, storage: CheckpointStorage) -> None:
        self._client = client
        self._storage = storage
        self._background = Background("checkpoint", daemon=True)
        self._uuid = ""

    def save(self, pending: Pending, snapshot: Snapshot, *, in_background: bool) -> None:
        """Saves a checkpoint; with ``in_background`` it may be on its way afterwards. Call ``settled`` for the result.

        The previous checkpoint must be settled.
        """
        self._uuid = pending.uuid
        if not in_background:
            self._publish(pending, self._written(pending, snapshot.write))
        elif (write := snapshot.staged()) is not None:
            self._background.start(lambda: self._publish(pending, self._written(pending, write)))
        else:
            draft = self._moved(pending.uuid, self._written(pending, snapshot.write))
            self._background.start(lambda: self._publish(pending, draft))

    def settled(self, *, wait: bool) -> str | None:
        """The UUID of a checkpoint that has been reported since the last call. Raises what went wrong."""
        if self._background.running and not wait:
            return None
        uuid, self._uuid = self._uuid, ""
        self._background.wait()
        return uuid or None

    def finish(self) -> None:
        """Waits for what is on its way, after a failure of the trial: the next run has less to repeat."""
        try:
            self._background.wait()
        except BaseException as error:
            logger.warning("checkpoint %s was not saved: %s", self._uuid, error)

    def _written(self, pending: Pending, write: Callable[[str], Any]) -> str:
        self._client.begin_checkpoint(pending.uuid)
        draft = self._storage.draft(pending.uuid)
        try:
            write(draft)
            (pathlib.Path(draft) / "metadata.json").write_text(pending.description_json + "\n")
        except BaseException:
            self._storage.drop(draft)
            raise
        return draft

    def _moved(self, uuid: str, draft: str) -> str:
        """Gives a draft another name, because the trial may remember this one: TensorFlow's ``Saver`` deletes what it
        wrote before, wherever that was."""
        place = self._storage.draft(uuid)
        os.rename(draft, place)
        return place

    def _publish(self, pending: Pending, draft: str) -> None:
        resources = self._storage.publish(pending.uuid, draft)
        self._client.report_checkpoint(pending.uuid, pending.batches, resources, pending.metadata_json)
        logger.info("checkpoint %s after batch %d (%s)", pending.uuid, pending.batches, pending.reason)
