"""One trial: its values, its logs, its metrics, its checkpoints."""

from __future__ import annotations

import datetime
import enum
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined.common import check
from determined.common.api import Session
from determined.common.api.errors import MasterNotFoundException
from determined.experimental._checkpoint import Checkpoint, CheckpointSortBy
from determined.experimental._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics, iter_metrics
from determined.experimental._ranking import best_first
from determined.experimental._resource import OrderBy, State, state_of, time_of

TrialState = State

_OUTAGE_SECONDS = 60.0


class TrialSortBy(enum.Enum):
    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    RESTARTS = "SORT_BY_RESTARTS"


class LogLevel(enum.Enum):
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class TrialEnvironment:
    """What a trial ran in.

    ``environments`` are the different ones that it had, that of the newest run first: dicts with ``versions``,
    ``os``, ``hardware``, ``switches``, ``variables`` and ``packages`` (as ``pip freeze`` says it); ``runs`` are the
    numbers of the runs in each. ``seeds`` has ``trial`` and ``experiment``, ``git`` the commit that was submitted.
    A trial that has not begun has none yet.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        found = answer.get("environments") or []
        self.environments: list[dict[str, Any]] = [entry["environment"] for entry in found]
        self.runs: list[list[int]] = [sorted({finding["runId"] for finding in entry["found"]}) for entry in found]
        self.seeds: dict[str, int] = answer.get("seeds") or {}
        self.git: dict[str, Any] = answer.get("git") or {}


class Trial:
    """A trial. Attributes are as of the last :meth:`reload`.

    ``id``, ``experiment_id``, ``state``, ``hparams``, ``restarts``, ``batches`` (trained so far),
    ``summary_metrics``, ``warm_start_checkpoint_uuid`` (of the trial it began from, or None).
    """

    def __init__(self, session: Session, answer: Mapping[str, Any]) -> None:
        self._session = session
        self._read(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.id: int = answer["id"]
        self.experiment_id: int = answer["experimentId"]
        self.state: TrialState = state_of(answer["state"])
        self.hparams: dict[str, Any] = answer.get("hparams") or {}
        self.restarts: int = answer.get("restarts") or 0
        self.batches: int = answer.get("totalBatchesProcessed") or 0
        self.summary_metrics: dict[str, Any] = answer.get("summaryMetrics") or {}
        self.warm_start_checkpoint_uuid: str | None = answer.get("warmStartCheckpointUuid") or None
        self.start_time: datetime.datetime | None = time_of(answer.get("startTime"))
        self.end_time: datetime.datetime | None = time_of(answer.get("endTime"))
        self.error: str = answer.get("error") or ""

    @property
    def trial_id(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"

    def reload(self) -> None:
        """Reads all attributes again."""
        self._read(self._session.get(f"/api/v1/trials/{self.id}")["trial"])

    def get_environment(self) -> TrialEnvironment:
        """Packages, hardware, switches and seeds that the trial had."""
        return TrialEnvironment(self._session.get(f"/api/v1/trials/{self.id}/environment"))

    def kill(self) -> None:
        """Ends the trial without a checkpoint. A trial that is over stays as it is."""
        self._session.post(f"/api/v1/trials/{self.id}/kill")

    def list_checkpoints(
        self,
        sort_by: str | CheckpointSortBy | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Completed checkpoints, by time or by an attribute; by a validation metric where ``sort_by`` is a name."""
        return list_checkpoints(self._session, f"/api/v1/trials/{self.id}", sort_by, order_by, max_results)

    get_checkpoints = list_checkpoints

    def top_checkpoint(self, sort_by: str | None = None, smaller_is_better: bool | None = None) -> Checkpoint:
        """The best completed checkpoint that was validated: the same as ``select_checkpoint(best=True, …)``."""
        return self.select_checkpoint(best=True, sort_by=sort_by, smaller_is_better=smaller_is_better)

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: str | None = None,
        sort_by: str | None = None,
        smaller_is_better: bool | None = None,
    ) -> Checkpoint:
        """One checkpoint: the one with most batches, the best by a validation metric, or the one of that uuid.

        ``sort_by`` and ``smaller_is_better`` go together and with ``best``; without them the searcher's metric
        decides.

        Raises:
            CheckFailedError: not exactly one of ``latest``, ``best`` and ``uuid``; or one of the pair alone.
            AssertionError: the trial has no such checkpoint.
        """
        ways = [name for name, given in (("latest", latest), ("best", best), ("uuid", uuid)) if given]
        if len(ways) != 1:
            check.fail(" and ".join(ways) or "none", "exactly one of latest, best and uuid")
        if (sort_by is None) != (smaller_is_better is None):
            check.fail("only one of sort_by and smaller_is_better", "both or neither")
        if sort_by is not None and not best:
            raise AssertionError("sort_by and smaller_is_better have a meaning with best=True only")
        found = self.list_checkpoints()
        if uuid:
            found = [checkpoint for checkpoint in found if checkpoint.uuid == uuid]
        elif latest:
            found = sorted(found, key=lambda checkpoint: checkpoint.batch_number, reverse=True)
        else:
            found = best_first(found, sort_by, smaller_is_better)
        if not found:
            what = f"checkpoint {uuid}" if uuid else "validated checkpoint" if best else "checkpoint"
            raise AssertionError(f"trial {self.id} has no {what}{f' with a metric {sort_by!r}' if sort_by else ''}")
        return found[0]

    def logs(
        self,
        follow: bool = False,
        *,
        head: int | None = None,
        tail: int | None = None,
        container_ids: Sequence[str] | None = None,
        rank_ids: Sequence[int] | None = None,
        stdtypes: Sequence[str] | None = None,
        min_level: LogLevel | None = None,
    ) -> Iterable[str]:
        """The lines of the trial's log, as ``det trial logs`` prints them; with ``follow`` until the trial is over.

        Raises:
            ValueError: ``head`` with ``tail``, or ``tail`` with ``follow``.
        """
        if head is not None and tail is not None:
            raise ValueError("head and tail can't both be given")
        if tail is not None and follow:
            raise ValueError("tail and follow can't both be given")
        levels = list(LogLevel)
        params: dict[str, Any] = {
            "follow": follow,
            "limit": head if head is not None else tail,
            "orderBy": "ORDER_BY_DESC" if tail is not None else None,
            "containerIds": list(container_ids or ()),
            "rankIds": list(rank_ids or ()),
            "stdtypes": list(stdtypes or ()),
            "levels": [level.value for level in levels[levels.index(min_level) :]] if min_level else [],
        }
        lines = self._followed_logs(params) if follow else self._stored_logs(params, 120.0)
        return reversed(list(lines)) if tail is not None else lines

    def _stored_logs(self, params: Mapping[str, Any], timeout: float) -> Iterator[str]:
        for line in self._session.stream(f"/api/v1/trials/{self.id}/logs", params, timeout):
            yield line["message"]

    def _followed_logs(self, params: Mapping[str, Any]) -> Iterator[str]:
        """Outlives a silent trial, a broken connection and a restarted master; no line twice or lost."""
        seen, failed_since = 0, 0.0
        while True:
            try:
                for number, line in enumerate(self._stored_logs(params, 600.0)):
                    failed_since = 0.0
                    if number >= seen:
                        seen += 1
                        yield line
                return
            except MasterNotFoundException:
                now = time.monotonic()
                failed_since = failed_since or now
                if now - failed_since > _OUTAGE_SECONDS:
                    raise
                time.sleep(0.5)

    def iter_logs(self, follow: bool = False, **filters: Any) -> Iterator[str]:
        """The same as :meth:`logs`, as an iterator."""
        return iter(self.logs(follow, **filters))

    def iter_metrics(self, group: str) -> Iterator[TrialMetrics]:
        """The reports of a group (``training``, ``validation`` or one of your own), ascending by steps."""
        return iter_metrics(self._session, [self.id], group)

    stream_metrics = iter_metrics

    def stream_training_metrics(self) -> Iterator[TrainingMetrics]:
        return iter_metrics(self._session, [self.id], "training")

    def stream_validation_metrics(self) -> Iterator[ValidationMetrics]:
        return iter_metrics(self._session, [self.id], "validation")


def list_checkpoints(
    session: Session,
    owner: str,
    sort_by: str | CheckpointSortBy | None,
    order_by: OrderBy | None,
    max_results: int | None,
) -> list[Checkpoint]:
    params: dict[str, Any] = {"states": ["STATE_COMPLETED"], "orderBy": order_by.value if order_by else None}
    if isinstance(sort_by, CheckpointSortBy):
        params["sortByAttr"] = sort_by.value
    elif sort_by is not None:
        params["sortByMetric"] = sort_by
    found: list[Checkpoint] = []
    for answer in session.pages(f"{owner}/checkpoints", "checkpoints", params):
        if max_results is not None and len(found) >= max_results:
            break
        found.append(Checkpoint(session, answer))
    return found
