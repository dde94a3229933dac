"""The runner of a search method, against a server that answers as a master does and fails when it is told to."""

from __future__ import annotations

import http.server
import json
import pathlib
import threading
import uuid
from typing import Any

import pytest

from determined import core, searcher
from determined.common.api import errors
from determined.experimental import Checkpoint, Determined

TRIAL = uuid.UUID(int=7)


class Events:
    """A queue of events as a master keeps it; what was answered to each."""

    def __init__(self) -> None:
        self.queue: list[dict[str, Any]] = [{"id": 1, "initialOperations": {}}]
        self.answers: dict[int, Any] = {}
        self.drop_answer_to = 0  # takes what is said to this event, and says nothing
        self.drop_before = 0  # does not take it the first time
        handler = type("Handler", (_Handler,), {"events": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, number: int, operations: Any) -> bool:
        if not any(event["id"] == number for event in self.queue):
            return False
        self.queue = [event for event in self.queue if event["id"] > number]
        assert number not in self.answers, "taken twice"
        self.answers[number] = operations
        if number == 1:
            body = {"requestId": str(TRIAL), "metric": "NaN", "validateAfterLength": "10"}
            self.queue.append({"id": 2, "trialProgress": {"requestId": str(TRIAL), "partialUnits": 5}})
            self.queue.append({"id": 3, "validationCompleted": body})
        elif number == 3:
            self.queue.append({"id": 2**31 - 1, "experimentInactive": {"experimentState": "STATE_COMPLETED"}})
        return True


class _Handler(http.server.BaseHTTPRequestHandler):
    events: Events

    def log_message(self, *_: Any) -> None:
        pass

    def reply(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if "searcher_events" in self.path:
            self.reply(200, {"searcherEvents": self.events.queue})
        else:
            self.reply(200, {"experiment": {"id": 5, "state": "STATE_ACTIVE"}, "user": {"username": "determined"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "null")
        if self.path.endswith("login"):
            return self.reply(200, {"token": "t"})
        if not self.path.endswith("searcher_operations"):
            return self.reply(200, {"experiment": {"id": 5, "state": "STATE_PAUSED"}})
        number = body["triggeredByEvent"]["id"]
        if number == self.events.drop_before:
            self.events.drop_before = 0
            return self.close_connection_now()
        taken = self.events.answer(number, body["searcherOperations"])
        if number == self.events.drop_answer_to:
            self.events.drop_answer_to = 0
            return self.close_connection_now()
        if taken:
            return self.reply(200, {})
        return self.reply(404, {"error": {"code": 5, "reason": "NotFound", "error": f"event {number} not found"}})

    def close_connection_now(self) -> None:
        self.close_connection = True
        self.connection.close()


class Counting(searcher.SearchMethod):
    """One trial. Counts what it is told; dies after the calls that it is told to die after."""

    def __init__(self, die_saving: int = 0) -> None:
        self.told = 0
        self.die_saving = die_saving

    def initial_operations(self, searcher_state: searcher.SearcherState) -> list[searcher.Operation]:
        self.told += 1
        return [searcher.Create(TRIAL, {"lr": 0.1}), searcher.ValidateAfter(TRIAL, 10)]

    def on_trial_created(self, searcher_state: searcher.SearcherState, request_id: uuid.UUID) -> list[Any]:
        return []

    def on_validation_completed(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Any]:
        self.told += 1
        assert request_id == TRIAL and train_length == 10 and metric != metric
        assert searcher_state.trial_progress == {TRIAL: 5.0}
        return [searcher.Close(request_id), searcher.Shutdown()]

    def on_trial_closed(self, searcher_state: searcher.SearcherState, request_id: uuid.UUID) -> list[Any]:
        return []

    def on_trial_exited_early(
        self, searcher_state: searcher.SearcherState, request_id: uuid.UUID, exited_reason: searcher.ExitedReason
    ) -> list[Any]:
        return []

    def progress(self, searcher_state: searcher.SearcherState) -> float:
        return float("nan")

    def save_method_state(self, path: pathlib.Path) -> None:
        (path / "told").write_text(str(self.told))

    def load_method_state(self, path: pathlib.Path) -> None:
        self.told = int((path / "told").read_text())


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    server = Events()
    yield server
    server.close()


def runner(events: Events, directory: pathlib.Path, method: Counting) -> searcher.LocalSearchRunner:
    return searcher.LocalSearchRunner(method, directory, Determined(events.url, "determined", ""), patience=5)


CONFIG = {"searcher": {"name": "custom"}}
CREATE = {"createTrial": {"requestId": str(TRIAL), "hyperparams": '{"lr": 0.1}'}}
TRAIN = {"trialOperation": {"validateAfter": {"requestId": str(TRIAL), "length": 10}}}


def test_what_the_method_says_is_carried_to_the_master(events: Events, tmp_path: pathlib.Path) -> None:
    method = Counting()
    assert runner(events, tmp_path / "s", method).run(CONFIG) == 5
    assert events.answers[1] == [CREATE, TRAIN]
    assert events.answers[3] == [
        {"closeTrial": {"requestId": str(TRIAL)}},
        {"shutDown": {"cancel": False, "failure": False}},
        {"setSearcherProgress": {"progress": 0.0}},  # one that is NaN is none
    ], "all that happened is answered at once"
    assert method.told == 2


@pytest.mark.parametrize("lost", ["drop_answer_to", "drop_before"])
@pytest.mark.parametrize("number", [1, 3])
def test_an_answer_whose_fate_is_unknown_is_sent_again(
    events: Events, tmp_path: pathlib.Path, lost: str, number: int
) -> None:
    setattr(events, lost, number)
    method = Counting()
    runner(events, tmp_path / "s", method).run(CONFIG)
    assert sorted(events.answers) == [1, 3]
    assert method.told == 2, "the method is told once"


def test_a_runner_that_died_before_it_sent_its_answer_sends_that_one(
    events: Events, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runner(events, tmp_path / "s", Counting())

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(first, "_send", die)
    with pytest.raises(KeyboardInterrupt):
        first.run(CONFIG)
    assert events.answers == {}
    method = Counting()
    assert runner(events, tmp_path / "s", method).run(CONFIG) == 5
    assert events.answers[1] == [CREATE, TRAIN]
    assert method.told == 2, "it was told of the first event in its life before"


def test_two_runners_do_not_share_a_directory_or_an_experiment(events: Events, tmp_path: pathlib.Path) -> None:
    one = runner(events, tmp_path / "s", Counting())
    with one._alone(), pytest.raises(RuntimeError, match="another search runner is active in"):
        runner(events, tmp_path / "s", Counting()).run(CONFIG)
    seen = list(events.queue)
    events.answer(1, "somebody else's")
    one.state.experiment_id = 5
    one._directory.mkdir(exist_ok=True)
    with pytest.raises(RuntimeError, match="event 1 of experiment 5 was answered by another runner"):
        one._take("/api/v1/experiments/5", seen)


def test_a_master_that_stays_away_is_an_error(events: Events, tmp_path: pathlib.Path) -> None:
    lonely = searcher.LocalSearchRunner(
        Counting(), tmp_path / "s", Determined(events.url, "determined", ""), patience=0.1
    )
    events.close()
    with pytest.raises(errors.MasterNotFoundException):
        lonely.run(CONFIG)


@pytest.mark.parametrize("answer", [None, "Shutdown", searcher.Shutdown(), {}, [searcher.Shutdown], [[]], [None]])
def test_a_method_that_returns_no_operations_is_named(events: Events, tmp_path: pathlib.Path, answer: Any) -> None:
    class Odd(Counting):
        def initial_operations(self, searcher_state: searcher.SearcherState) -> Any:
            return answer

    with pytest.raises(
        TypeError, match=r"Odd\.initial_operations\(\) returned .*; it must return a list of Create, Valid"
    ):
        searcher.LocalSearchRunner(Odd(), tmp_path, Determined(events.url, "determined", "")).run(CONFIG)
    assert events.answers == {}


@pytest.mark.parametrize("answer", [None, "half", "0.5", [0.5]])
def test_progress_that_is_no_number_is_named(events: Events, tmp_path: pathlib.Path, answer: Any) -> None:
    class Odd(Counting):
        def progress(self, searcher_state: searcher.SearcherState) -> Any:
            return answer

    with pytest.raises(TypeError, match=r"Odd\.progress\(\) returned .*; it must return a number from 0 to 1"):
        searcher.LocalSearchRunner(Odd(), tmp_path, Determined(events.url, "determined", "")).run(CONFIG)


def test_a_remote_runner_wants_to_be_the_first_process_of_a_trial(tmp_path: pathlib.Path) -> None:
    with (
        core.init(checkpoint_storage=tmp_path) as context,
        pytest.raises(RuntimeError, match="runs only inside a trial on a cluster"),
    ):
        searcher.RemoteSearchRunner(Counting(), context)


def test_a_trial_may_start_from_a_checkpoint_or_its_uuid() -> None:
    assert searcher.Create(request_id=TRIAL, hparams={}, checkpoint=None) == searcher.Create(TRIAL, {})
    assert "checkpointUuid" not in searcher.Create(TRIAL, {}).to_json()["createTrial"]
    assert searcher.Create(TRIAL, {}, "c-1").to_json()["createTrial"]["checkpointUuid"] == "c-1"
    saved = Checkpoint(None, "c-2")
    assert searcher.Create(TRIAL, {}, saved).to_json()["createTrial"]["checkpointUuid"] == "c-2"


class InATrial(searcher.RemoteSearchRunner):
    """In a trial of a master that only knows events: what is said to it otherwise is kept here."""

    def __init__(self, method: searcher.SearchMethod, events: Events, directory: pathlib.Path) -> None:
        searcher.SearchRunner.__init__(self, method, Determined(events.url, "determined", ""), patience=5)
        self.directory = directory
        self.saves = 0
        self.told: list[float] = []

    def _save(self) -> None:
        self.saves += 1
        self._write(self.directory / str(self.saves))

    def _before_waiting(self) -> None:
        pass

    def _told(self, fraction: float) -> None:
        self.told.append(fraction)


def test_progress_alone_makes_no_checkpoint(events: Events, tmp_path: pathlib.Path) -> None:
    one = InATrial(Counting(), events, tmp_path)
    path = "/api/v1/experiments/5"
    progress = {"id": 1, "trialProgress": {"requestId": str(TRIAL), "partialUnits": 5}}
    events.queue = [progress]
    one._take(path, [progress])
    assert one.saves == 0 and one.told == [0.0] and one.state.trial_progress == {TRIAL: 5.0}
    body = {"requestId": str(TRIAL), "metric": "NaN", "validateAfterLength": "10"}
    happened = [{"id": 4, "trialProgress": progress["trialProgress"]}, {"id": 5, "validationCompleted": body}]
    events.queue = list(happened)
    one._take(path, happened)
    assert one.saves == 1 and list(events.answers) == [1, 5]
    again = InATrial(Counting(), events, tmp_path)
    assert again._read(tmp_path / "1") and again.state == one.state
