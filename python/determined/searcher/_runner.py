"""Carries events to a search method, and its operations back."""

from __future__ import annotations

import fcntl
import json
import logging
import math
import os
import pathlib
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from determined.common.api import errors
from determined.experimental._determined import Determined
from determined.searcher._method import (
    ExitedReason,
    Operation,
    Progress,
    SearcherState,
    SearchMethod,
)

logger = logging.getLogger("determined.searcher")

T = TypeVar("T")

_STATE = "state.json"
_METHOD = "method"
_POLL_SECONDS = 30
_OVER = ("COMPLETED", "CANCELED", "ERROR", "DELETED", "DELETE_FAILED", "DELETING")


class SearchRunner:
    """Runs a search method against one experiment.

    What the method answers to an event is saved together with the method's state before it is sent. A runner that
    ends between the two sends the very same operations when it is started again, and the master takes an answer to
    an event once. ``patience``: seconds that it waits for a master that does not answer.
    """

    def __init__(
        self,
        search_method: SearchMethod,
        directory: pathlib.Path,
        master: Determined | None = None,
        patience: float = 600.0,
    ) -> None:
        self.search_method = search_method
        self.state = SearcherState()
        self._determined = master or Determined()
        self._session = self._determined._session
        self._directory = directory
        self._patience = patience
        self._pending: list[dict[str, Any]] = []
        self._maybe_sent = False  # whether the pending answer may have reached the master before

    def _answer(self, event: Mapping[str, Any]) -> list[Operation]:
        """Tells the method of the event."""
        method, state = self.search_method, self.state
        kind, body = next((key, value) for key, value in event.items() if key != "id")
        if kind == "initialOperations":
            return list(method.initial_operations(state))
        if kind == "experimentInactive":
            logger.info("experiment %s is %s", state.experiment_id, _state_of(event))
            return []
        trial = uuid.UUID(body["requestId"])
        if kind == "trialCreated":
            state.trials_created.add(trial)
            return list(method.on_trial_created(state, trial))
        if kind == "trialProgress":
            state.trial_progress[trial] = float(body["partialUnits"])
            operations: list[Operation] = []
        elif kind == "validationCompleted":
            length = int(body["validateAfterLength"])
            operations = list(method.on_validation_completed(state, trial, float(body["metric"]), length))
        elif kind == "trialExitedEarly":
            state.failures.add(trial)
            return list(method.on_trial_exited_early(state, trial, ExitedReason(body["exitedReason"])))
        elif kind == "trialClosed":
            state.trials_closed.add(trial)
            operations = list(method.on_trial_closed(state, trial))
        else:
            raise ValueError(f"the master tells of {kind}, which this version does not know")
        return [*operations, Progress(_fraction(method.progress(state)))]

    def _drive(self, experiment_id: int) -> int:
        """Answers events until the search is over."""
        path = f"/api/v1/experiments/{experiment_id}"
        while not self.state.experiment_completed:
            for event in self._patiently(lambda: self._events(path)):
                if _state_of(event) in _OVER:
                    self.state.experiment_completed = True
                    self._save()
                elif not self._handle(path, event):
                    break
        return experiment_id

    def _events(self, path: str) -> list[Mapping[str, Any]]:
        answer = self._session.get(f"{path}/searcher_events", {"timeoutSeconds": _POLL_SECONDS})
        return answer.get("searcherEvents") or []

    def _handle(self, path: str, event: Mapping[str, Any]) -> bool:
        """Answers one event; False where the master has to be asked again what there is."""
        number = int(event["id"])
        if number < self.state.last_event_id:
            return True  # goes with the one that was answered last
        if number > self.state.last_event_id:
            self._pending = [operation.to_json() for operation in self._answer(event)]
            self.state.last_event_id = number
            self._maybe_sent = False
            self._save()
        body = {"searcherOperations": self._pending, "triggeredByEvent": {"id": number}}
        try:
            self._patiently(lambda: self._send(path, body))
        except errors.NotFoundException:
            if not self._maybe_sent:
                raise RuntimeError(
                    f"event {number} of experiment {self.state.experiment_id} was answered by another runner; "
                    "one search method may drive an experiment at a time"
                ) from None
            return False  # it arrived before: only the master's answer was lost
        except errors.BadRequestException:
            if self._is_stopping(path):
                return False
            raise
        return True

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
        """Calls again while no master answers: it may be starting again."""
        limit = time.monotonic() + self._patience
        while True:
            try:
                return call()
            except errors.MasterNotFoundException as error:
                if time.monotonic() > limit:
                    raise
                logger.warning("%s; trying again", error)
                time.sleep(min(0.5, self._patience))

    def _save(self) -> None:
        """Writes a new directory and puts it in the place of the old one in one step."""
        fresh = self._directory / f"state-{os.getpid()}-{time.time_ns()}"
        (fresh / _METHOD).mkdir(parents=True)
        self.search_method.save_method_state(fresh / _METHOD)
        saved = {"searcher_state": self.state.to_dict(), "pending": self._pending}
        (fresh / _STATE).write_text(json.dumps(saved))
        for file in fresh.rglob("*"):
            if file.is_file():
                _sync(file)
        link = self._directory / "current.new"
        link.unlink(missing_ok=True)
        link.symlink_to(fresh.name)
        link.replace(self._directory / "current")
        _sync(self._directory)
        for old in self._directory.glob("state-*"):
            if old.name != fresh.name:
                shutil.rmtree(old, ignore_errors=True)

    def _load(self) -> bool:
        current = self._directory / "current"
        if not (current / _STATE).exists():
            return False
        saved = json.loads((current / _STATE).read_text())
        self.state = SearcherState.from_dict(saved["searcher_state"])
        self._pending = saved["pending"]
        self._maybe_sent = True
        self.search_method.load_method_state(current / _METHOD)
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Holds the directory, so that no second runner goes on from the same state."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RuntimeError(f"another search runner works in {self._directory}") from None
            yield

    def _submit_or_resume(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any],
        model_dir: str | os.PathLike[str] | None,
        includes: Iterable[str | os.PathLike[str]] | None,
    ) -> int:
        with self._alone():
            if self._load() and self.state.experiment_id is not None:
                logger.info("going on with experiment %s", self.state.experiment_id)
                if self.state.last_event_id == 0:
                    self._activate(self.state.experiment_id)
                return self._drive(self.state.experiment_id)
            experiment = self._determined.create_experiment(config, model_dir, includes, activate=False)
            self.state.experiment_id = experiment.id
            self._save()  # from here on this directory belongs to that experiment
            self._activate(experiment.id)
            return self._drive(experiment.id)

    def _activate(self, experiment_id: int) -> None:
        path = f"/api/v1/experiments/{experiment_id}"
        try:
            self._patiently(lambda: self._session.post(f"{path}/activate", {}))
        except errors.BadRequestException:
            if not self._is_stopping(path):
                raise


def _state_of(event: Mapping[str, Any]) -> str:
    """The experiment's state that the event tells of; empty where it tells of something else."""
    return str(event.get("experimentInactive", {}).get("experimentState", "")).removeprefix("STATE_")


def _fraction(progress: float) -> float:
    return min(max(float(progress), 0.0), 1.0) if math.isfinite(progress) else 0.0


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LocalSearchRunner(SearchRunner):
    """Runs the search method in this process, and keeps its state in ``searcher_dir``.

    A second run with the same directory goes on with the experiment that the first one created, wherever the first
    one was killed. (Killed while the experiment is submitted, it may leave a paused one without trials behind.)
    """

    def __init__(
        self,
        search_method: SearchMethod,
        searcher_dir: str | os.PathLike[str] | None = None,
        master: Determined | None = None,
        patience: float = 600.0,
    ) -> None:
        super().__init__(search_method, pathlib.Path(searcher_dir or "searcher-state"), master, patience)

    def run(
        self,
        exp_config: str | os.PathLike[str] | Mapping[str, Any],
        model_dir: str | os.PathLike[str] | None = None,
        includes: Iterable[str | os.PathLike[str]] | None = None,
    ) -> int:
        """Submits the experiment, or goes on with it, and drives it to its end. Returns its id.

        Raises:
            BadRequestException: the configuration, or an operation of the method, makes no sense; the text says why.
            RuntimeError: another runner drives the experiment, or works in the directory.
            MasterNotFoundException: for longer than ``patience`` no master answered.
        """
        return self._submit_or_resume(exp_config, model_dir, includes)
