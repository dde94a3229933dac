"""Objects of the SDK against a server that answers as a master does; with a whole cluster: `test_sdk.py`."""

from __future__ import annotations

import datetime
import http.server
import json
import math
import pathlib
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from determined.common.api import errors
from determined.errors import CheckpointStateException
from determined.experimental import Checkpoint, Determined, Experiment, Trial, TrialSortBy, client
from determined.experimental._metrics import report_of
from determined.experimental._trial_log import moment

EXPERIMENT = {"id": 5, "state": "STATE_COMPLETED", "name": "five", "searcherMetric": "loss", "projectId": 3}


class Master(http.server.ThreadingHTTPServer):
    """Answers each path with what ``answers`` has for it, and remembers what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Any] = {"/api/v1/experiments/5": {"experiment": EXPERIMENT}}
        self.asked: list[str] = []
        self.refuses = False
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def client(self) -> Determined:
        self.answers["/api/v1/me"] = {"user": {"id": 1, "username": "ada"}}
        self.answers["/api/v1/auth/login"] = {"token": "t"}
        found = Determined(f"http://127.0.0.1:{self.server_port}", "ada", "")
        self.asked.clear()
        return found


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Master

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def do_PUT(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.startswith("/api/v1/auth/"):
            self.server.asked.append(f"{self.command} {self.path}")
        answer = self.server.answers.get(urllib.parse.urlsplit(self.path).path)
        status = 401 if self.server.refuses else 200 if answer is not None else 404
        data = json.dumps(answer if status == 200 else {"error": {"error": "so it goes"}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def master() -> Iterator[Master]:
    served = Master()
    yield served
    served.close()


def test_what_is_made_from_an_id_is_read_when_it_is_asked_for(master: Master) -> None:
    experiment = Experiment(5, master.client()._session)
    assert (experiment.id, repr(experiment), master.asked) == (5, "Experiment(id=5)", [])
    assert (experiment.name, experiment.project_id, experiment.workspace_id) == ("five", 3, 1)
    assert master.asked == ["GET /api/v1/experiments/5"], "once"
    with pytest.raises(AttributeError, match="'Experiment' object has no attribute 'nmae'"):
        _ = experiment.nmae  # type: ignore[attr-defined]
    with pytest.raises(errors.NotFoundException):
        _ = Trial(7, experiment._session).hparams


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda d: d.get_checkpoint("a/b?c#d e"), "/api/v1/checkpoints/a%2Fb%3Fc%23d%20e"),
        (lambda d: d.get_model("../users"), "/api/v1/models/..%2Fusers"),
        (lambda d: d.get_user_by_name("a/b"), "/api/v1/users/a%2Fb/by-username"),
        (lambda d: Checkpoint(d._session, "a/b").reload(), "/api/v1/checkpoints/a%2Fb"),
    ],
)
def test_special_characters_in_names_are_escaped(master: Master, call: Callable[[Determined], Any], path: str) -> None:
    determined = master.client()
    with pytest.raises(errors.NotFoundException):
        call(determined)
    assert master.asked == [f"GET {path}"]


def test_the_filters_of_a_list_of_experiments_arrive(master: Master) -> None:
    master.answers["/api/v1/experiments"] = {"experiments": [EXPERIMENT], "pagination": {"total": 1}}
    determined = master.client()
    assert determined.list_experiments(experiment_ids=[]) == [], "none of these"
    (found,) = determined.list_experiments(
        client.ExperimentSortBy.PROJECT_ID, client.OrderBy.DESC, [5, 6], ["x"], project_id=3
    )
    assert found.name == "five"
    (asked,) = master.asked
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(asked).query)
    assert query["experimentIdFilter.incl"] == ["5", "6"] and query["labels"] == ["x"]
    assert (query["sortBy"], query["orderBy"]) == (["SORT_BY_PROJECT_ID"], ["ORDER_BY_DESC"])
    assert query["projectId"] == ["3"]


def test_a_state_may_be_its_name_and_no_other_text(master: Master) -> None:
    master.answers["/api/v1/experiments"] = {"experiments": [], "pagination": {"total": 0}}
    determined = master.client()
    for states in ([client.ExperimentState.COMPLETED, "ERROR"], ["COMPLETED", "STATE_ERROR"]):
        determined.list_experiments(states=states)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(master.asked.pop()).query)
        assert query["states"] == ["STATE_COMPLETED", "STATE_ERROR"]
    with pytest.raises(ValueError, match=r"states\[0\] is 'DONE'; it must be one of .*State.COMPLETED"):
        determined.list_experiments(states=["DONE"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.get_experiment("abc"), "experiment_id is 'abc'; it must be the number that the master assigned"),
        (lambda d: d.get_experiment(None), "experiment_id is None; it must be"),
        (lambda d: d.get_trial(2.5), "trial_id is 2.5; it must be"),
        (lambda d: d.create_experiment(5, "."), "config is 5; it must be a dict, or the path of a YAML file"),
        (lambda d: d.create_experiment({"a": {"b": object()}}), r"config\['a'\]\['b'\] is a value of the type object"),
        (lambda d: Checkpoint.from_json({"uuid": "u"}).add_metadata("x"), "metadata is 'x'; it must be a dict"),
        (lambda d: Checkpoint.from_json({"uuid": "u"}).add_metadata({"a": object()}), r"metadata\['a'\] is a value of"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_asked(
    call: Callable[[Determined], Any], message: str, master: Master
) -> None:
    determined: Any = master.client()
    with pytest.raises((TypeError, ValueError), match=message):
        call(determined)
    assert not master.asked


def test_what_the_master_warns_of_a_new_experiment_is_a_warning(master: Master) -> None:
    determined = master.client()
    answer: dict[str, Any] = {"experiment": EXPERIMENT}
    master.answers["/api/v1/experiments"] = answer
    determined.create_experiment({"name": "quiet"})
    answer["warnings"] = ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    answer |= {"launchReason": "needs 64 slots", "configWarnings": ["bind_mounts: left out"]}
    with pytest.warns(UserWarning, match="can never run|left out") as warned:
        determined.create_experiment({"name": "loud"})
    assert [str(one.message) for one in warned] == [
        "no agent of the cluster can run the experiment: it needs 64 slots; it waits until one can.",
        "bind_mounts: left out",
    ]
    assert warned[0].filename == __file__


def test_numbers_that_are_not_finite_are_read_at_every_depth() -> None:
    row = {"trialId": 1, "trialRunId": 1, "totalBatches": 2, "endTime": None, "group": "training"}
    values = {"a": ["NaN", {"b": "Infinity"}, 1], "c": {"d": ["-Infinity"]}, "e": "text"}
    report = report_of({**row, "metrics": {"avg_metrics": values, "batch_metrics": [{"a": ["NaN"]}]}})
    assert math.isnan(report.metrics["a"][0]) and report.metrics["a"][1:] == [{"b": math.inf}, 1]
    assert (report.metrics["c"], report.metrics["e"]) == ({"d": [-math.inf]}, "text")
    assert report.batch_metrics is not None and math.isnan(report.batch_metrics[0]["a"][0])


@pytest.mark.parametrize("stored", [[3], 3, {"loss": 1}, ["x"], [[1]]])
def test_stored_metrics_of_batches_that_are_no_rows_do_not_keep_a_report_from_being_read(stored: Any) -> None:
    row = {"trialId": 1, "trialRunId": 1, "totalBatches": 2, "endTime": None, "group": "training"}
    report = report_of({**row, "metrics": {"avg_metrics": {"loss": 1.0}, "batch_metrics": stored}})
    assert (report.metrics, report.batch_metrics) == ({"loss": 1.0}, None)


def _trial(id: int, loss: float | None, seconds: float, size: int) -> dict[str, Any]:
    latest = {"metrics": {"avgMetrics": {"loss": loss}}} if loss is not None else None
    sizes = {"wallClockTime": seconds, "totalCheckpointSize": str(size)}
    return {"id": id, "experimentId": 5, "state": "STATE_COMPLETED", "latestValidation": latest, **sizes}


@pytest.mark.parametrize(
    ("sort_by", "ascending", "descending"),
    [
        (TrialSortBy.LATEST_VALIDATION_METRIC, [3, 1, 2], [1, 3, 2]),  # 2 has none: last, whichever way
        (TrialSortBy.DURATION, [1, 2, 3], [3, 2, 1]),
        (TrialSortBy.CHECKPOINT_SIZE, [2, 3, 1], [1, 3, 2]),
    ],
)
def test_trials_are_sorted_by_what_the_master_does_not_sort_by(
    master: Master, sort_by: TrialSortBy, ascending: list[int], descending: list[int]
) -> None:
    trials = [_trial(1, 0.5, 1.5, 1000), _trial(2, None, 2.5, 9), _trial(3, 0.25, 10.0, 99)]
    master.answers["/api/v1/experiments/5/trials"] = {"trials": trials, "pagination": {"total": 3}}
    experiment = Experiment(5, master.client()._session)
    assert [trial.id for trial in experiment.iter_trials(sort_by)] == ascending
    assert [trial.id for trial in experiment.list_trials(sort_by, client.OrderBy.DESC)] == descending


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000000Z"),
        ("2026-05-14T09:30:00Z", "2026-05-14T09:30:00.000000Z"),
        ("2026-05-14T09:30:00.5+02:00", "2026-05-14T07:30:00.500000Z"),
        (datetime.datetime(2026, 5, 14, 9, 30, tzinfo=datetime.UTC), "2026-05-14T09:30:00.000000Z"),
    ],
)
def test_a_time_of_a_log_is_sent_in_utc(given: Any, sent: str | None) -> None:
    assert moment("timestamp_before", given) == sent


@pytest.mark.parametrize("given", ["yesterday", "", [1], 10**20])
def test_an_invalid_time_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"timestamp_after is .*; it must be seconds since 1970, or a time such as"):
        moment("timestamp_after", given)


def test_a_deleted_checkpoint_is_not_downloaded(master: Master, tmp_path: pathlib.Path) -> None:
    master.answers["/api/v1/checkpoints/u"] = {"checkpoint": {"uuid": "u", "state": "STATE_DELETED"}}
    checkpoint = master.client().get_checkpoint("u")
    with pytest.raises(CheckpointStateException, match="checkpoint u is DELETED; only a COMPLETED"):
        checkpoint.download(tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_refused_log_in_has_an_error_of_its_own(master: Master) -> None:
    master.refuses = True
    with pytest.raises(errors.InvalidCredentialsException, match=r"cannot log in at .* as 'ada': so it goes") as caught:
        Determined(f"http://127.0.0.1:{master.server_port}", "ada", "wrong")
    assert caught.value.status_code == 401 and isinstance(caught.value, errors.UnauthenticatedException)


def test_a_user_cannot_log_in_elsewhere(master: Master) -> None:
    with pytest.raises(ValueError, match="remote users are not supported"):
        master.client().create_user("eve", admin=False, remote=True)
    assert master.asked == []


def test_a_note_is_removed_by_a_name_that_one_note_has(master: Master) -> None:
    notes = [{"name": name, "contents": ""} for name in ("a", "b", "b")]
    master.answers["/api/v1/projects/3"] = {"project": {"id": 3, "name": "p", "workspaceId": 1, "notes": notes}}
    master.answers["/api/v1/projects/3/notes"] = {"notes": notes[1:]}
    project = client.Project(master.client()._session, 3)
    for name, count in (("b", 2), ("c", 0)):
        with pytest.raises(ValueError, match=f"project 3 has {count} notes named '{name}'"):
            project.remove_note(name)
    assert not any(asked.startswith("PUT") for asked in master.asked)
    project.remove_note("a")
    assert [note["name"] for note in project.notes] == ["b", "b"]


def test_a_workspace_is_found_by_its_whole_name(master: Master) -> None:
    found = [{"id": 1, "name": "team"}, {"id": 2, "name": "tea"}]
    master.answers["/api/v1/workspaces"] = {"workspaces": found, "pagination": {"total": 2}}
    determined = master.client()
    assert determined.get_workspace("tea").id == 2
    with pytest.raises(errors.NotFoundException, match="workspace 'te' not found"):
        determined.get_workspace("te")
    with pytest.raises(ValueError, match="either workspace_id or workspace_name"):
        client.Workspace(determined._session)
