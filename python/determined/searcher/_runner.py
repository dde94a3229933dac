"""Passes events to a search method, and its operations to the master."""

from __future__ import annotations

import abc
import json
import logging
import os
import pathlib
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from determined.common.api import errors
from determined.experimental._determined import Determined, config_text
from determined.searcher._answers import operations_of, progress_of
from determined.searcher._method import (
    ExitedReason,
    Operation,
    Progress,
    SearcherState,
    SearchMethod,
)

logger = logging.getLogger("determined.searcher")

T = TypeVar("T")

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""The configuration of an experiment: the path of a YAML file, or a dict."""
Includes = Optional[Iterable[Union[str, "os.PathLike[str]"]]]

_STATE = "state.json"
_METHOD = "method"
_OVER = ("COMPLETED", "CANCELED", "ERROR", "DELETED", "DELETE_FAILED", "DELETING")


class SearchRunner(abc.ABC):
    """Runs a search method for one experiment. Subclasses define where it runs, and where its state is stored.

    The operations in answer to an event are saved together with the method's state before they are sent. A runner that
    is interrupted in between sends the same operations again when it restarts, and the master accepts only one answer
    to an event. ``patience`` is how many seconds it waits for a master that does not answer.
    """

    _poll_seconds = 30
    """How long the master may take before it answers that nothing has happened."""

    def __init__(self, search_method: SearchMethod, master: Determined, patience: float) -> None:
        self.search_method = search_method
        self.state = SearcherState()
        self._determined = master
        self._session = self._determined._session
        self._patience = patience
        self._pending: list[dict[str, Any]] = []
        self._maybe_sent = False  # whether the pending answer may have reached the master before
        self._mark = ""  # a comment below the configuration: whose experiment it is, before that has an id

    @abc.abstractmethod
    def _save(self) -> None:
        """Saves the state and the pending answer with :meth:`_write`. Durable on return."""

    def _before_waiting(self) -> None:
        """Called repeatedly while there is no unanswered event."""

    def _is_worth_saving(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these operations change the state to save."""
        return True

    def _told(self, fraction: float) -> None:
        """Called when the master knows the progress of the search."""

    def _answer(self, event: Mapping[str, Any]) -> list[Operation]:
        """Tells the method of the event."""
        state = self.state
        kind, body = next((key, value) for key, value in event.items() if key != "id")
        if kind == "initialOperations":
            return self._ask("initial_operations")
        if kind == "experimentInactive":
            logger.info("experiment %s is %s", state.experiment_id, _state_of(event))
            return []
        trial = uuid.UUID(body["requestId"])
        if kind == "trialCreated":
            state.trials_created.add(trial)
            return self._ask("on_trial_created", trial)
        if kind == "trialProgress":
            state.trial_progress[trial] = float(body["partialUnits"])
            return []
        if kind == "validationCompleted":
            length = int(body["validateAfterLength"])
            state.validation_metrics = body.get("metrics") or {}
            return self._ask("on_validation_completed", trial, float(body["metric"]), length)
        if kind == "trialExitedEarly":
            state.failures.add(trial)
            return self._ask("on_trial_exited_early", trial, ExitedReason(body["exitedReason"]))
        if kind == "trialClosed":
            state.trials_closed.add(trial)
            return self._ask("on_trial_closed", trial)
        raise ValueError(f"the master sent an event {kind!r}, which this version does not know; upgrade the package")

    def _ask(self, name: str, *arguments: Any) -> list[Operation]:
        """Returns the result of a method of the search method, once it is checked."""
        answer = getattr(self.search_method, name)(self.state, *arguments)
        return operations_of(answer, f"{type(self.search_method).__name__}.{name}()")

    def _progress(self) -> float:
        return progress_of(self.search_method.progress(self.state), f"{type(self.search_method).__name__}.progress()")

    def _drive(self, experiment_id: int) -> int:
        """Answers events until the search is over."""
        path = f"/api/v1/experiments/{experiment_id}"
        while not self.state.experiment_completed:
            self._before_waiting()
            events = self._patiently(lambda: self._events(path))
            if events:
                self._take(path, events)
        return experiment_id

    def _events(self, path: str) -> list[Mapping[str, Any]]:
        answer = self._session.get(f"{path}/searcher_events", {"timeoutSeconds": self._poll_seconds})
        return answer.get("searcherEvents") or []

    def _take(self, path: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Answers all events of the queue at once; repeats the previous answer to those that were already answered."""
        if (over := _state_of(events[-1])) in _OVER:
            self.state.experiment_completed = True
            self.state.experiment_failed = over == "ERROR"
            self._save()
            return
        if int(events[0]["id"]) > self.state.last_event_id:
            operations = [operation for event in events for operation in self._answer(event)]
            self._pending = [operation.to_json() for operation in operations]
            if any(_trial_of(event) for event in events):
                self._pending.append(Progress(self._progress()).to_json())
            self.state.last_event_id = int(events[-1]["id"])
            self._maybe_sent = False
            if self._is_worth_saving(events):
                self._save()
        self._say(path)

    def _say(self, path: str) -> None:
        """Sends the pending answer."""
        number = self.state.last_event_id
        body = {"searcherOperations": self._pending, "triggeredByEvent": {"id": number}}
        try:
            self._patiently(lambda: self._send(path, body))
        except errors.NotFoundException:
            if not self._maybe_sent:
                raise RuntimeError(
                    f"event {number} of experiment {self.state.experiment_id} was answered by another runner; "
                    "only one search runner may drive an experiment at a time"
                ) from None
            return  # it arrived before: only the master's answer was lost
        except errors.BadRequestException:
            if self._is_stopping(path):
                return
            raise
        if self._pending and (said := self._pending[-1].get("setSearcherProgress")):
            self._told(said["progress"])

    def _send(self, path: str, body: Mapping[str, Any]) -> None:
        try:
            self._session.post(f"{path}/searcher_operations", body)
        except errors.MasterNotFoundException:
            self._maybe_sent = True
            raise

    def _is_stopping(self, path: str) -> bool:
        state = str(self._session.get(path)["experiment"]["state"]).removeprefix("STATE_")
        return state in _OVER or state.startswith("STOPPING")

    def _patiently(self, call: Callable[[], T]) -> T:
        return patiently(call, self._patience)

    def _write(self, directory: pathlib.Path) -> None:
        """Writes everything to save into an empty directory."""
        (directory / _METHOD).mkdir(parents=True)
        self.search_method.save_method_state(directory / _METHOD)
        saved = {"searcher_state": self.state.to_dict(), "pending": self._pending, "mark": self._mark}
        (directory / _STATE).write_text(json.dumps(saved))

    def _read(self, directory: pathlib.Path) -> bool:
        """Reads what :meth:`_write` wrote; returns False if there is nothing."""
        if not (directory / _STATE).exists():
            return False
        saved = json.loads((directory / _STATE).read_text())
        self.state = SearcherState.from_dict(saved["searcher_state"])
        self._pending = saved["pending"]
        self._mark = saved.get("mark", "")
        self._maybe_sent = True
        self.search_method.load_method_state(directory / _METHOD)
        return True

    def _submit(
        self,
        config: Config,
        model_dir: str | os.PathLike[str] | None,
        includes: Includes,
        *,
        parent_id: int | None = None,
        again: bool,
    ) -> int:
        """Submits the experiment paused, so that nothing happens before its state is saved; returns its id.

        ``again`` is whether an earlier run may have submitted it and ended before its state was saved.
        """
        text = f"{config_text(config).rstrip()}\n{self._mark}\n"
        unsure = again

        def attempt() -> int:
            nonlocal unsure
            found = self._find_marked() if unsure else None
            unsure = True
            if found is not None:
                return found
            return self._determined._submit(text, model_dir, includes, parent_id, activate=False).id

        return self._patiently(attempt)

    def _find_marked(self) -> int | None:
        path = "/api/v1/experiments"
        wanted = {"states": ["STATE_PAUSED"], "users": [self._determined.get_session_username()]}
        for listed in self._session.pages(path, "experiments", wanted):
            whole = self._session.get(f"{path}/{listed['id']}")["experiment"]
            if str(whole.get("originalConfig") or "").rstrip().endswith(f"\n{self._mark}"):
                return int(listed["id"])
        return None

    def _begin(self, experiment_id: int) -> int:
        """Starts a new experiment."""
        self.state.experiment_id = experiment_id
        self._save()  # from here on the state belongs to that experiment
        self._activate(experiment_id)
        return self._drive(experiment_id)

    def _go_on(self, experiment_id: int) -> int:
        """Resumes the experiment of the saved state."""
        logger.info("resuming experiment %s", experiment_id)
        if self.state.last_event_id == 0:
            self._activate(experiment_id)
        return self._drive(experiment_id)

    def _activate(self, experiment_id: int) -> None:
        path = f"/api/v1/experiments/{experiment_id}"
        try:
            self._patiently(lambda: self._session.post(f"{path}/activate", {}))
        except errors.BadRequestException:
            if not self._is_stopping(path):
                raise


def patiently(call: Callable[[], T], patience: float) -> T:
    """Repeats a call while no master answers, for at most ``patience`` seconds, because it may be restarting."""
    limit = time.monotonic() + patience
    while True:
        try:
            return call()
        except errors.MasterNotFoundException as error:
            if time.monotonic() > limit:
                raise
            logger.warning("%s; retrying", error)
            time.sleep(min(0.5, patience))


def _state_of(event: Mapping[str, Any]) -> str:
    """The state of the experiment in the event; empty for other events."""
    return str(event.get("experimentInactive", {}).get("experimentState", "")).removeprefix("STATE_")


def _trial_of(event: Mapping[str, Any]) -> str:
    """The trial of the event; empty if it has none."""
    body = next(value for key, value in event.items() if key != "id")
    return str(body.get("requestId", ""))
