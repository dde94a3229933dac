"""The reported metrics of trials."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from determined.common.api import Session
from determined.experimental._resource import numbers, time_of


@dataclasses.dataclass(frozen=True)
class TrialMetrics:
    """One report. ``metrics`` maps names to values. ``batch_metrics`` has one such dict per batch, or is None.
    ``num_inputs`` is the number of records in the report over all slots; 0 if they were not counted.
    """

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: datetime.datetime | None
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    group: str
    num_inputs: int = 0

    @property
    def total_batches(self) -> int:
        """The former name of ``steps_completed``."""
        return self.steps_completed


class TrainingMetrics(TrialMetrics):
    """A report of the group ``training``."""


class ValidationMetrics(TrialMetrics):
    """A report of the group ``validation``."""


_KINDS = {"training": TrainingMetrics, "validation": ValidationMetrics}


def iter_metrics(session: Session, trial_ids: Sequence[int], group: str | None) -> Iterator[Any]:
    """Iterates over the stored reports, trial by trial, in ascending order of steps; of all groups if none is given."""
    params = {"trialIds": list(trial_ids), "group": group}
    for item in session.stream("/api/v1/trials/metrics/trial_metrics", params):
        for row in item["metrics"]:
            yield report_of(row)


def report_of(row: dict[str, Any]) -> TrialMetrics:
    values = row["metrics"]
    batches = values.get("batch_metrics")
    return _KINDS.get(row["group"], TrialMetrics)(
        trial_id=row["trialId"],
        trial_run_id=row["trialRunId"],
        steps_completed=row["totalBatches"],
        end_time=time_of(row["endTime"]),
        metrics=numbers(values.get("avg_metrics") or values.get("validation_metrics")),
        batch_metrics=[numbers(one) for one in batches if isinstance(one, dict)] if _has_dicts(batches) else None,
        group=row["group"],
        num_inputs=int(row.get("numInputs") or 0),
    )


def _has_dicts(batches: Any) -> bool:
    """Whether it is a list of dicts; programs may have reported anything as ``batch_metrics``."""
    return isinstance(batches, list) and any(isinstance(one, dict) for one in batches)
