"""Sorted lists of the trials and checkpoints of an experiment or a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from determined._compat import zip_strict
from determined.common.api import Session
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._order import CheckpointSortBy, OrderBy, TrialSortBy
from determined.experimental._resource import comparable

_PAGE = 500


def trial_answers(
    session: Session, experiment: str, sort_by: TrialSortBy, order_by: OrderBy, page: int | None
) -> Iterator[Mapping[str, Any]]:
    """The trials of the experiment at that path, as in the API; requests ``page`` of them per call."""
    here = _SORTED_HERE.get(sort_by)
    if here is None:
        params = {"sortBy": sort_by.value, "orderBy": order_by.value}
        yield from session.pages(f"{experiment}/trials", "trials", params, page or _PAGE)
        return
    found = list(session.pages(f"{experiment}/trials", "trials", limit=page or _PAGE))
    whole = session.get(experiment)["experiment"]
    values = [here(answer, whole) for answer in found]
    known = [(value, answer) for value, answer in zip_strict(values, found) if value is not None]
    known.sort(key=lambda pair: pair[0], reverse=order_by is OrderBy.DESCENDING)
    yield from (answer for _, answer in known)
    yield from (answer for value, answer in zip_strict(values, found) if value is None)  # whichever way


def _latest_metric(trial: Mapping[str, Any], experiment: Mapping[str, Any]) -> float | None:
    latest = ((trial.get("latestValidation") or {}).get("metrics") or {}).get("avgMetrics") or {}
    return comparable(latest.get(experiment.get("searcherMetric")))


def _duration(trial: Mapping[str, Any], _: Mapping[str, Any]) -> float | None:
    return comparable(trial.get("wallClockTime"))


def _checkpoint_size(trial: Mapping[str, Any], _: Mapping[str, Any]) -> float | None:
    return comparable(trial.get("totalCheckpointSize"))


# What the master does not sort by. The second argument is the experiment.
_SORTED_HERE: dict[TrialSortBy, Callable[[Mapping[str, Any], Mapping[str, Any]], float | None]] = {
    TrialSortBy.LATEST_VALIDATION_METRIC: _latest_metric,
    TrialSortBy.DURATION: _duration,
    TrialSortBy.CHECKPOINT_SIZE: _checkpoint_size,
}


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
        found.append(Checkpoint._of(session, answer))
    return found
