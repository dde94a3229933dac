"""What a training loop reports."""

from __future__ import annotations

import enum
import logging
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from determined import _arguments, _metrics
from determined._info import ClusterInfo
from determined.common.api import errors
from determined.core._connection import Master
from determined.core._distributed import DistributedContext
from determined.tensorboard._board import Board, get_base_path

logger = logging.getLogger("determined")


class EarlyExitReason(enum.Enum):
    """Why a trial ends early."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class TrainContext:
    """Reports of the chief. ``steps_completed`` counts batches, or any other unit of the loop, from the start of the
    trial.

    A report is durable when the call returns. Repeating a report changes nothing. Outside a cluster, reports are
    logged.

    All reports raise RuntimeError on a rank that is not the chief.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        info: ClusterInfo | None,
        master: Master | None,
        board: Board | None = None,
        *,
        manual: bool = False,
    ) -> None:
        self._distributed = distributed
        self._info = info
        self._master = master
        self._metadata: dict[str, Any] = {}
        self._board = board
        self._manual = manual

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Reports training metrics since the last report. ``batch_metrics`` has those of each batch; all batches have
        the same names.

        Raises:
            TypeError: ``batch_metrics`` is not a list of dicts.
            ValueError: its dicts have different keys.
        """
        _check_batch_metrics(batch_metrics)
        self._report("training", steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Reports the metrics of a validation. They should include the searcher's metric."""
        self._report("validation", steps_completed, metrics, None)

    def report_metrics(self, group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Reports metrics of a custom group, such as ``inference``.

        Raises:
            ValueError: the group is not a string, is empty, or contains a dot.
        """
        if not isinstance(group, str) or not group or "." in group:
            raise ValueError(f"group is {group!r}; it must be a name without a dot")
        self._report(group, steps_completed, metrics, None)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        self._require_chief(f"report {group} metrics")
        if not isinstance(metrics, Mapping):
            raise TypeError(f"metrics is a {type(metrics).__name__}; it must be a dict from name to value")
        steps = _arguments.whole(steps_completed, "steps_completed")
        if self._master is None or self._info is None:
            logger.info("%s after step %d: %s", group, steps, _metrics.to_json(dict(metrics)))
            return
        trial = self._info.trial
        body = {
            "group": group,
            "metrics": {
                "trialId": trial.trial_id,
                "trialRunId": trial.trial_run_id,
                "stepsCompleted": steps,
                "metrics": {"avgMetrics": dict(metrics), "batchMetrics": list(batch_metrics or [])},
            },
        }
        with _metrics.naming(metrics=metrics, batch_metrics=batch_metrics):
            self._master.post(f"/api/v1/trials/{trial.trial_id}/metrics", body)
        if self._board is not None and not self._manual:
            if group == "validation":
                self._board.validation(steps, metrics)
            else:
                self._board.training(steps, metrics)

    def report_progress(self, progress: float) -> None:
        """Reports the progress of the trial, from 0 to 1.

        Raises:
            ValueError: it is not a number from 0 to 1.
        """
        self._require_chief("report progress")
        rule = "must be a number from 0 to 1"
        if not 0 <= _arguments.real(progress, "progress", rule) <= 1:
            raise ValueError(f"progress is {progress!r}; it {rule}")
        if self._master is None or self._info is None:
            logger.info("progress: %.1f%%", progress * 100)
            return
        body = {"progress": float(progress), "is_raw": True}
        self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/progress", body)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Reports that the trial is going to end early. End the process with status 0 afterwards."""
        self._require_chief("report an early exit")
        if not isinstance(reason, EarlyExitReason):
            names = ", ".join(f"EarlyExitReason.{each.name}" for each in EarlyExitReason)
            raise TypeError(f"report_early_exit({reason!r}): the reason must be one of {names}")
        if self._master is None or self._info is None:
            logger.info("the trial ends early: %s", reason.name)
            return
        self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/early_exit", {"reason": reason.value})

    def set_status(self, status: str) -> None:
        """Sets what the trial is doing, in a word or two; shown in lists and in the web interface."""
        self._require_chief("set the status")
        if self._master is None or self._info is None:
            logger.info("status: %s", status)
            return
        self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/runner/metadata", {"state": status})

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Sets the metadata of this trial and replaces the previous ones; up to 512 KiB. Outside a cluster, they are
        logged.
        """
        self._require_chief("set the metadata")
        if not isinstance(metadata, Mapping):
            raise TypeError(f"metadata is a {type(metadata).__name__}; it must be a dict")
        if self._master is None or self._info is None:
            logger.info("metadata: %s", _metrics.to_json(dict(metadata), "metadata"))
            self._metadata = dict(metadata)
            return
        run = self._info.trial.trial_id
        with _metrics.naming(metadata=metadata):
            self._master.post(f"/api/v1/runs/{run}/metadata", {"runId": run, "metadata": dict(metadata)})

    def get_metadata(self) -> dict[str, Any]:
        """Returns what :meth:`set_metadata` set last, in this run or an earlier one; empty before that."""
        if self._master is None or self._info is None:
            return dict(self._metadata)
        return dict(self._master.get(f"/api/v1/runs/{self._info.trial.trial_id}/metadata")["metadata"])

    def get_experiment_best_validation(self) -> float | None:
        """Returns the best searcher metric of all trials so far; None before the first validation."""
        if self._master is None or self._info is None:
            return None
        experiment = self._info.trial.experiment_id
        try:
            answer = self._master.get(f"/api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric")
        except errors.NotFoundException:
            return None
        value = float(answer["metric"])
        return None if math.isnan(value) else value

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns a directory of this process for TensorBoard's files. On a cluster, they are stored with the
        checkpoints.

        With ``TensorboardMode.AUTO`` only the chief's files are stored, at every report and at the end.
        """
        return get_base_path()

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, _: path,
    ) -> None:
        """Stores this rank's files of :meth:`get_tensorboard_path` with the checkpoints. Does nothing outside a
        cluster.

        ``selector`` takes a path relative to that directory and returns whether to store it. ``mangler`` takes the path
        and the rank and returns the name to store it under, so that ranks do not overwrite each other's files.

        Raises:
            RuntimeError: ``core.init()`` was not called with ``tensorboard_mode=TensorboardMode.MANUAL``.
        """
        if not self._manual:
            raise RuntimeError(
                "TensorBoard files are uploaded automatically; pass tensorboard_mode=TensorboardMode.MANUAL to "
                "core.init() to do it yourself"
            )
        if self._board is not None:
            self._board.copy(selector, mangler, self._distributed.rank)

    def close(self) -> None:
        """Stores what was written after the last report."""
        if self._board is not None and not self._manual and self._distributed.rank == 0:
            self._board.close()

    def _require_chief(self, what: str) -> None:
        if self._distributed.rank != 0:
            raise RuntimeError(f"rank {self._distributed.rank} can't {what}; only the chief, rank 0, can")


def _check_batch_metrics(rows: Any) -> None:
    if rows is None:
        return
    rule = "must be a list with a dict for each batch, from name to value, all with the same names"
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Sequence):
        raise TypeError(f"batch_metrics is a {type(rows).__name__}; it {rule}")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"batch_metrics[{number}] is a {type(row).__name__}; batch_metrics {rule}")
        if row.keys() != rows[0].keys():
            here, there = sorted(map(str, row)), sorted(map(str, rows[0]))
            raise ValueError(
                f"batch_metrics[{number}] has the names {here} and batch_metrics[0] {there}; batch_metrics {rule}"
            )
