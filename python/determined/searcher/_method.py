"""Events and operations of a search."""

from __future__ import annotations

import abc
import dataclasses
import enum
import json
import pathlib
import pickle
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from determined.experimental._checkpoint import Checkpoint


_ATTRIBUTES = "attributes.pickle"


class ExitedReason(enum.Enum):
    """Why a trial ended without its result."""

    ERRORED = "EXITED_REASON_UNSPECIFIED"
    USER_CANCELED = "EXITED_REASON_USER_REQUESTED_STOP"
    INVALID_HP = "EXITED_REASON_INVALID_HP"


class Operation(abc.ABC):
    """Something that a search method requests."""

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Returns the operation as the master reads it."""


@dataclasses.dataclass(frozen=True)
class Create(Operation):
    """Creates a trial with these hyperparameters. It trains once a :class:`ValidateAfter` sets its length.

    ``checkpoint`` is a checkpoint of any trial, or its UUID, from whose weights the trial starts; its batches are still
    counted from 0. The checkpoint is kept for as long as the trial needs it. If it does not exist or was deleted, all
    operations of the same answer are rejected.
    """

    request_id: uuid.UUID
    hparams: Mapping[str, Any]
    checkpoint: Checkpoint | str | None = None

    def to_json(self) -> dict[str, Any]:
        trial = {"requestId": str(self.request_id), "hyperparams": json.dumps(dict(self.hparams))}
        if self.checkpoint is not None:
            trial["checkpointUuid"] = self.checkpoint if isinstance(self.checkpoint, str) else self.checkpoint.uuid
        return {"createTrial": trial}


@dataclasses.dataclass(frozen=True)
class ValidateAfter(Operation):
    """Trains until ``length`` units **in total**, then validates."""

    request_id: uuid.UUID
    length: int

    def to_json(self) -> dict[str, Any]:
        return {"trialOperation": {"validateAfter": {"requestId": str(self.request_id), "length": self.length}}}


@dataclasses.dataclass(frozen=True)
class Close(Operation):
    """Ends the trial once it has completed its operations."""

    request_id: uuid.UUID

    def to_json(self) -> dict[str, Any]:
        return {"closeTrial": {"requestId": str(self.request_id)}}


@dataclasses.dataclass(frozen=True)
class Progress(Operation):
    """Sets the progress of the search, from 0 to 1."""

    progress: float

    def to_json(self) -> dict[str, Any]:
        return {"setSearcherProgress": {"progress": self.progress}}


@dataclasses.dataclass(frozen=True)
class Shutdown(Operation):
    """Ends the search. Without it, the experiment never ends."""

    cancel: bool = False
    failure: bool = False
    reason: str = ""
    """Of the failure: becomes the error of the experiment."""

    def to_json(self) -> dict[str, Any]:
        reason = {"reason": self.reason} if self.reason else {}
        return {"shutDown": {"cancel": self.cancel, "failure": self.failure, **reason}}


@dataclasses.dataclass
class SearcherState:
    """What the runner knows about the search. The runner saves and restores it; search methods must not change it."""

    experiment_id: int | None = None
    trials_created: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trials_closed: set[uuid.UUID] = dataclasses.field(default_factory=set)
    failures: set[uuid.UUID] = dataclasses.field(default_factory=set)
    trial_progress: dict[uuid.UUID, float] = dataclasses.field(default_factory=dict)
    last_event_id: int = 0
    experiment_completed: bool = False
    experiment_failed: bool = False
    validation_metrics: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """All metrics of the validation of which the search method is told just now. Not saved."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "experiment_id": self.experiment_id,
            "trials_created": sorted(map(str, self.trials_created)),
            "trials_closed": sorted(map(str, self.trials_closed)),
            "failures": sorted(map(str, self.failures)),
            "trial_progress": {str(trial): units for trial, units in self.trial_progress.items()},
            "last_event_id": self.last_event_id,
            "experiment_completed": self.experiment_completed,
            "experiment_failed": self.experiment_failed,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> SearcherState:
        return cls(
            experiment_id=saved["experiment_id"],
            trials_created=set(map(uuid.UUID, saved["trials_created"])),
            trials_closed=set(map(uuid.UUID, saved["trials_closed"])),
            failures=set(map(uuid.UUID, saved["failures"])),
            trial_progress={uuid.UUID(trial): units for trial, units in saved["trial_progress"].items()},
            last_event_id=saved["last_event_id"],
            experiment_completed=saved["experiment_completed"],
            experiment_failed=saved.get("experiment_failed", False),
        )


class SearchMethod(abc.ABC):
    """Decides which trials to run. Each method is told about an event and returns the operations that it requests.

    ``save_method_state`` and ``load_method_state`` preserve the state of the search method when the runner restarts.
    By default, they pickle the attributes of the object.
    """

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]:
        """Called once, first."""

    def on_trial_created(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]:
        return []

    @abc.abstractmethod
    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Operation]:
        """The trial has trained ``train_length`` units in total; ``metric`` is the reported metric of the searcher."""

    @abc.abstractmethod
    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]: ...

    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]:
        return []

    def progress(self, searcher_state: SearcherState) -> float:
        """Returns the progress, from 0 to 1."""
        return 0.0

    def save_method_state(self, path: pathlib.Path) -> None:
        """Writes the state of the search method to this directory."""
        (path / _ATTRIBUTES).write_bytes(pickle.dumps(vars(self)))

    def load_method_state(self, path: pathlib.Path) -> None:
        """Reads what ``save_method_state`` wrote."""
        if (path / _ATTRIBUTES).exists():
            vars(self).update(pickle.loads((path / _ATTRIBUTES).read_bytes()))
