"""What the searcher requests of this trial: how far to train."""

from __future__ import annotations

import enum
import logging
import math
import time
from collections.abc import Iterator
from typing import Any

from determined import _arguments
from determined._info import ClusterInfo
from determined.core._connection import Master, poll_pause
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext

logger = logging.getLogger("determined")

_POLL_SECONDS = 10.0
_begun_with: int | None = None


def begin_with(length: int | None) -> None:
    """Sets the first operation, which is not completed, of the trial that starts now in this process. The first
    ``SearcherContext`` need not ask the master for it.
    """
    global _begun_with
    _begun_with = length


def _take_first() -> Any:
    """What the master would say of operations, if this process knows the first one and has not begun it yet."""
    length = _begun_with
    begin_with(None)
    return None if length is None else {"operations": [{"length": length, "completed": False}], "closed": False}


class SearcherMode(enum.Enum):
    """Who asks the master for operations."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    """All ranks iterate together, and every rank gets the chief's operations."""
    ChiefOnly = "CHIEF_ONLY"
    """Only the chief iterates."""


class Unit(enum.Enum):
    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class SearcherOperation:
    """A request to train up to ``length``, counted from the start of the trial, and then to validate and report the
    metric.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        length: int,
        unit: Unit | None = None,
        master: Master | None = None,
        info: ClusterInfo | None = None,
    ) -> None:
        self._distributed = distributed
        self._length = length
        self._unit = unit
        self._master = master
        self._info = info
        self._answer: Any = None
        self._completed = False

    @property
    def length(self) -> int:
        """The length in the unit of ``searcher.max_length``; 1 if that is not set."""
        return self._length

    @property
    def unit(self) -> Unit | None:
        """The unit of ``length``; None if it has no unit."""
        return self._unit

    def report_progress(self, length: float) -> None:
        """Reports how much of ``length`` is done, from 0 to ``length``.

        Raises:
            RuntimeError: this rank is not the chief.
            ValueError: it is not a number, or negative.
        """
        self._require_chief("report progress")
        rule = "must be a number, 0 or more"
        if not _arguments.real(length, "length", rule) >= 0:
            raise ValueError(f"length is {length!r}; it {rule}")
        if self._master is None or self._info is None:
            logger.info("progress: %s of %d", length, self._length)
            return
        fraction = min(1.0, float(length) / max(self._length, 1))
        body = {"progress": fraction, "is_raw": True}
        self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/progress", body)

    def report_completed(self, searcher_metric: Any) -> None:
        """Reports that the trial has trained up to ``length``, with the searcher's metric.

        Raises:
            RuntimeError: this rank is not the chief, or the operation is already completed.
            ValueError: the metric is not a number, or NaN, which the searcher cannot compare.
        """
        self._require_chief("complete an operation")
        if self._completed:
            raise RuntimeError(f"the operation of length {self._length} is already completed")
        try:
            value = float(_arguments.detached(searcher_metric))
        except (TypeError, ValueError):
            raise ValueError(f"searcher_metric is {searcher_metric!r}; it must be a number") from None
        if math.isnan(value):
            raise ValueError("searcher_metric is NaN; the searcher needs a number")
        if self._master is not None and self._info is not None:
            self._answer = self._master.post(
                f"/api/v1/trials/{self._info.trial.trial_id}/searcher/completed_operation",
                {"op": {"validateAfter": {"length": str(self._length)}}, "searcherMetric": value},
            )
        else:
            logger.info("completed %d with the metric %s", self._length, value)
        self._completed = True

    def _require_chief(self, what: str) -> None:
        if self._distributed.rank != 0:
            raise RuntimeError(f"rank {self._distributed.rank} can't {what}; only the chief, rank 0, can")


class SearcherContext:
    """What the searcher requests of this trial. Outside a cluster, it requests a single length of 1."""

    def __init__(
        self,
        distributed: DistributedContext,
        preempt: PreemptContext,
        info: ClusterInfo | None,
        master: Master | None,
    ) -> None:
        self._distributed = distributed
        self._preempt = preempt
        self._info = info
        self._master = master
        self._unit = _configured_unit(info)
        self._told: Any = _take_first() if master is not None else None
        """What the master said of operations at the start, or when the last one was completed."""

    def operations(self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief) -> Iterator[SearcherOperation]:
        """Iterates over the operations that are not completed; waits for more until the searcher has closed the trial.

        The iteration also ends if the trial is preempted while it waits. The chief has to complete each operation
        before it asks for the next one. A restarted trial gets the operations again that it had not completed.

        Raises:
            RuntimeError: the previous operation is not completed; or the mode is ``ChiefOnly``, and this rank is not
                the chief.
        """
        rank = self._distributed.rank
        searcher_mode = _arguments.choice(SearcherMode, searcher_mode, "searcher_mode")
        if searcher_mode is SearcherMode.ChiefOnly and rank != 0:
            raise RuntimeError(f"rank {rank} asked for operations, but SearcherMode.ChiefOnly allows only rank 0 to")
        source = self._next_lengths() if rank == 0 else None
        together = searcher_mode is SearcherMode.WorkersAskChief
        while True:
            length = next(source, None) if source is not None else None
            if together:
                length = self._distributed.broadcast(length)
            if length is None:
                return
            operation = SearcherOperation(self._distributed, length, self._unit, self._master, self._info)
            yield operation
            self._told = operation._answer
            if rank == 0 and not operation._completed:
                raise RuntimeError(
                    f"the operation of length {length} is not completed; call report_completed() with the "
                    "searcher's metric before asking for the next, or end the loop"
                )

    def get_configured_units(self) -> Unit | None:
        """The unit of ``searcher.max_length``; None if it has no unit, and outside a cluster."""
        return self._unit

    def _next_lengths(self) -> Iterator[int]:
        if self._master is None or self._info is None:
            yield 1
            return
        path = f"/api/v1/trials/{self._info.trial.trial_id}/searcher/operation"
        given = 0
        while True:
            started = time.monotonic()
            answer, self._told = self._told, None
            if answer is None or not (answer.get("closed") or given < len(answer.get("operations", ()))):
                query = {"known": given, "timeout_seconds": _POLL_SECONDS, "or_preempted": "true"}
                answer = self._master.get(path, query, _POLL_SECONDS)
            operations = answer["operations"]
            if given < len(operations):
                operation = operations[given]
                given += 1
                if not operation["completed"]:
                    yield int(operation["length"])
            elif answer["closed"] or self._preempt.gives_way_while_waiting():
                return
            else:
                poll_pause(started, 0.2)


def _configured_unit(info: ClusterInfo | None) -> Unit | None:
    searcher = (info.trial.experiment_config.get("searcher") or {}) if info else {}
    length = searcher.get("max_length")
    names = [unit for unit in Unit if isinstance(length, dict) and unit.value.lower() in length]
    return names[0] if names else None
