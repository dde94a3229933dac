"""One trial: its hyperparameters, logs, metrics and checkpoints."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from determined.common import check
from determined.common.api import Session
from determined.experimental import _trial_log
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._lists import list_checkpoints
from determined.experimental._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics, iter_metrics
from determined.experimental._order import CheckpointSortBy, OrderBy
from determined.experimental._ranking import best_first
from determined.experimental._resource import Resource, State, path_of, state_of, time_of
from determined.experimental._trial_environment import TrialEnvironment
from determined.experimental._trial_log import LogLevel

if TYPE_CHECKING:
    from typing import Self

TrialState = State


class TrialBase(Resource):
    """A trial without its experiment, which :class:`determined.experimental.Trial` adds.

    Attributes are as of the last :meth:`reload`.

    ``id``, ``experiment_id``, ``state``, ``hparams``, ``restarts``, ``batches`` (trained so far),
    ``summary_metrics``, ``warm_start_checkpoint_uuid`` (of the trial it began from, or None).
    """

    def __init__(self, trial_id: int, session: Session) -> None:
        self.id = trial_id
        self._session = session

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> Self:
        return cls(answer["id"], session)._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
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
        self._take(self._session.get(self._path())["trial"])

    def _path(self) -> str:
        return path_of("trials", self.id)

    def get_environment(self) -> TrialEnvironment:
        """Returns packages, hardware, switches and seeds of the trial."""
        return TrialEnvironment(self._session.get(f"{self._path()}/environment"))

    def kill(self) -> None:
        """Ends the trial without a checkpoint. A trial that has ended stays unchanged."""
        self._session.post(f"{self._path()}/kill")

    def list_checkpoints(
        self,
        sort_by: str | CheckpointSortBy | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Lists completed checkpoints, sorted by time or by an attribute, or by the validation metric that ``sort_by``
        names.
        """
        return list_checkpoints(self._session, self._path(), sort_by, order_by, max_results)

    get_checkpoints = list_checkpoints

    def top_checkpoint(self, sort_by: str | None = None, smaller_is_better: bool | None = None) -> Checkpoint:
        """Returns the best completed checkpoint with a validation, like ``select_checkpoint(best=True, …)``."""
        return self.select_checkpoint(best=True, sort_by=sort_by, smaller_is_better=smaller_is_better)

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: str | None = None,
        sort_by: str | None = None,
        smaller_is_better: bool | None = None,
    ) -> Checkpoint:
        """Returns the checkpoint with the most batches, the best one by a validation metric, or the one of that UUID.

        ``sort_by`` and ``smaller_is_better`` must be given together and require ``best``. By default, checkpoints are
        compared by the searcher's metric.

        Raises:
            CheckFailedError: not exactly one of ``latest``, ``best`` and ``uuid`` is given; or only one of ``sort_by``
                and ``smaller_is_better``.
            AssertionError: the trial has no such checkpoint.
        """
        ways = [name for name, given in (("latest", latest), ("best", best), ("uuid", uuid)) if given]
        if len(ways) != 1:
            check.fail(" and ".join(ways) or "none", "exactly one of latest, best and uuid")
        if (sort_by is None) != (smaller_is_better is None):
            check.fail("only one of sort_by and smaller_is_better", "both or neither")
        if sort_by is not None and not best:
            raise AssertionError("sort_by and smaller_is_better require best=True")
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
        timestamp_before: int | str | datetime.datetime | None = None,
        timestamp_after: int | str | datetime.datetime | None = None,
        sources: Sequence[str] | None = None,
        search_text: str | None = None,
    ) -> Iterable[str]:
        """Iterates over the lines of the trial's log, as ``det trial logs`` prints them; with ``follow`` until the
        trial has ended.

        A time is a number of seconds since 1970 or a string such as ``2026-05-14T09:30:00Z``; ``sources`` are ``task``,
        ``agent`` and ``master``.

        Raises:
            ValueError: ``tail`` is combined with ``head`` or ``follow``; or a time is invalid.
        """
        if head is not None and tail is not None:
            raise ValueError("head and tail exclude each other; pass one of them")
        if tail is not None and follow:
            raise ValueError("tail and follow exclude each other; pass one of them")
        params: dict[str, Any] = {
            "follow": follow,
            "limit": head if head is not None else tail,
            "orderBy": "ORDER_BY_DESC" if tail is not None else None,
            "containerIds": list(container_ids or ()),
            "rankIds": list(rank_ids or ()),
            "stdtypes": list(stdtypes or ()),
            "levels": min_level.and_above if min_level else [],
            "timestampBefore": _trial_log.moment("timestamp_before", timestamp_before),
            "timestampAfter": _trial_log.moment("timestamp_after", timestamp_after),
            "sources": list(sources or ()),
            "searchText": search_text or None,
        }
        path = f"{self._path()}/logs"
        lines = (_trial_log.followed if follow else _trial_log.stored)(self._session, path, params)
        return reversed(list(lines)) if tail is not None else lines

    def iter_logs(self, follow: bool = False, **filters: Any) -> Iterator[str]:
        """The former name of :meth:`logs`."""
        return iter(self.logs(follow, **filters))

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Iterates over the reports of a group (``training``, ``validation`` or a custom one), or of all groups, in
        ascending order of steps.
        """
        return iter_metrics(self._session, [self.id], group)

    stream_metrics = iter_metrics

    def stream_training_metrics(self) -> Iterator[TrainingMetrics]:
        return iter_metrics(self._session, [self.id], "training")

    def stream_validation_metrics(self) -> Iterator[ValidationMetrics]:
        return iter_metrics(self._session, [self.id], "validation")
