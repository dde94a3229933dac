"""Training without a master: an in-process client and a directory for checkpoints."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pathlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

logger = logging.getLogger("determined")


@dataclasses.dataclass(frozen=True)
class LocalOperations:
    lengths: list[int]
    completed: int
    closed: bool


class LocalClient:
    """Takes the place of a master for a trial, with operations that are known from the start.

    All reports are kept in ``reports``, in order: ``(kind, batches, value)``.
    """

    def __init__(
        self, lengths: Sequence[int], *, preempt_after: int | None = None, smaller_is_better: bool = True
    ) -> None:
        self._lengths = list(lengths)
        self._completed: dict[int, float] = {}
        self._preempt_after = preempt_after
        self._trained = 0
        self._best: float | None = None
        self._choose = min if smaller_is_better else max
        self.reports: list[tuple[str, int, Any]] = []
        self.records: dict[tuple[str, int], int] = {}
        self.early_exit: str | None = None
        self.acknowledged = False

    def operations(self, known: int, timeout_seconds: float) -> LocalOperations:
        if known >= len(self._lengths) and len(self._completed) < len(self._lengths):
            time.sleep(min(timeout_seconds, 0.1))
        return LocalOperations(list(self._lengths), len(self._completed), True)

    def complete_operation(self, length: int, metric: float) -> None:
        self._completed[length] = metric
        self._best = metric if self._best is None else self._choose(self._best, metric)
        self.reports.append(("operation", length, metric))

    def report_training(self, batches: int, avg_metrics_json: str, batch_metrics_json: str, records: int = 0) -> None:
        self._trained = batches
        self.records["training", batches] = records
        value = {"avg_metrics": json.loads(avg_metrics_json), "batch_metrics": json.loads(batch_metrics_json)}
        self.reports.append(("training", batches, value))
        logger.info("training after batch %d: %s", batches, avg_metrics_json)

    def report_validation(self, batches: int, metrics_json: str, records: int = 0) -> None:
        self.records["validation", batches] = records
        self.reports.append(("validation", batches, json.loads(metrics_json)))
        logger.info("validation after batch %d: %s", batches, metrics_json)

    def report_progress(self, fraction: float) -> None:
        """Does nothing."""

    def report_state(self, state: str) -> None:
        logger.debug("%s", state)

    def begin_checkpoint(self, uuid: str) -> None:
        """Does nothing."""

    def report_checkpoint(self, uuid: str, batches: int, resources: Mapping[str, int], metadata_json: str) -> None:
        self.reports.append(("checkpoint", batches, {"uuid": uuid, "resources": dict(resources)}))

    def report_early_exit(self, reason: str) -> None:
        self.early_exit = reason
        logger.info("the trial ended early: %s", reason)

    def preempt_requested(self) -> bool:
        return self._preempt_after is not None and self._trained >= self._preempt_after

    def acknowledge_preemption(self, can_wait: bool = False) -> None:
        self.acknowledged = True

    def wish(self, timeout_seconds: float) -> str:
        return "leave"

    def best_validation(self) -> float | None:
        return self._best

    def flush(self) -> None:
        """Does nothing, because nothing is queued."""

    def close(self) -> None:
        """Does nothing, because nothing is open."""


class DirectoryStorage:
    """Checkpoints as subdirectories of a directory."""

    def __init__(self, root: str) -> None:
        self._root = pathlib.Path(root)
        self._root.mkdir(parents=True, exist_ok=True)

    def save(self, directory: str, uuid: str) -> dict[str, int]:
        draft = self.draft(uuid)
        shutil.copytree(directory, draft, dirs_exist_ok=True)
        return self.publish(uuid, draft)

    def draft(self, uuid: str) -> str:
        return tempfile.mkdtemp(prefix="incoming-", dir=self._root)

    def publish(self, uuid: str, draft: str) -> dict[str, int]:
        place = self._root / uuid
        os.replace(draft, place)
        return {
            str(path.relative_to(place)) + ("/" if path.is_dir() else ""): 0 if path.is_dir() else path.stat().st_size
            for path in sorted(place.rglob("*"))
        }

    def drop(self, draft: str) -> None:
        shutil.rmtree(draft, ignore_errors=True)

    def restore(self, uuid: str, directory: str) -> None:
        shutil.copytree(self._root / uuid, directory, dirs_exist_ok=True)

    def verify(self, uuid: str) -> None:
        """Does nothing, because there is nothing to compare with."""

    def place(self, uuid: str) -> str | None:
        return str(self._root / uuid)


def new_uuid() -> str:
    return str(uuid.uuid4())
