"""The Core API against a master of its own."""

from __future__ import annotations

import json
import logging
import math
import pathlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from small_master import SmallMaster

import determined as det
from determined import core
from determined.common.api import errors
from determined.core import _connection, _searcher
from determined.core._connection import Master


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Iterator[SmallMaster]:
    served = SmallMaster([9, 16])
    config = {
        "searcher": {"metric": "loss", "max_length": {"epochs": 16}},
        "checkpoint_storage": {"type": "directory", "container_path": str(tmp_path / "storage")},
    }
    for name, value in {
        "DET_MASTER": served.url,
        "DET_SESSION_TOKEN": "token",
        "DET_TASK_ID": "3.x",
        "DET_ALLOCATION_ID": "3.x.1",
        "DET_TRIAL_ID": "7",
        "DET_EXPERIMENT_ID": "3",
        "DET_TRIAL_SEED": "11",
        "DET_TRIAL_RUN_ID": "2",
        "DET_HPARAMS": '{"lr": 0.5}',
        "DET_EXPERIMENT_CONFIG": json.dumps(config),
    }.items():
        monkeypatch.setenv(name, value)
    yield served
    served.close()


def test_on_the_cluster_a_process_knows_its_trial(master: SmallMaster) -> None:
    info = det.get_cluster_info()
    assert info is not None
    assert (info.trial.trial_id, info.trial.experiment_id, info.trial.hparams) == (7, 3, {"lr": 0.5})
    assert info.latest_checkpoint is None
    assert (info.container_rank, info.container_addrs, info.container_slot_counts) == (0, ["127.0.0.1"], [1])
    assert info.gpu_uuids == []


def test_what_is_printed_of_a_trial_has_no_secrets_in_it(master: SmallMaster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_SESSION_TOKEN", "the-token")
    monkeypatch.setenv("DET_EXPERIMENT_CONFIG", '{"checkpoint_storage": {"secret_key": "the-key"}}')
    monkeypatch.setenv("DET_TASK_CONFIG", '{"environment": {"environment_variables": ["PASSWORD=the-password"]}}')
    info = det.get_cluster_info()
    assert info is not None
    assert info.session_token == "the-token" and info.task_config["environment"]
    assert info.trial._config == info.trial.experiment_config == {"checkpoint_storage": {"secret_key": "the-key"}}
    shown = f"{info} {info.trial} {info!r}"
    assert "trial_id=7" in shown
    for secret in ("the-token", "the-key", "the-password"):
        assert secret not in shown


def test_a_command_or_a_notebook_knows_where_it_runs_and_that_it_is_no_trial(
    master: SmallMaster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    for name in ("DET_TRIAL_ID", "DET_EXPERIMENT_ID", "DET_TRIAL_SEED", "DET_HPARAMS", "DET_EXPERIMENT_CONFIG"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("DET_TASK_TYPE", "NOTEBOOK")
    monkeypatch.setenv("DET_TASK_CONFIG", '{"data": {"path": "/d"}}')
    info = det.get_cluster_info()
    assert info is not None
    assert (info.task_type, info.user_data, info.latest_checkpoint) == ("NOTEBOOK", {"path": "/d"}, None)
    with pytest.raises(RuntimeError, match=r"is a NOTEBOOK; get_cluster_info\(\).trial"):
        _ = info.trial
    # As outside: there is no experiment to report to.
    with core.init(checkpoint_storage=tmp_path / "checkpoints") as context:
        context.train.report_training_metrics(1, {"loss": 1})
    assert master.told == []


def test_a_process_knows_the_machines_of_its_trial(master: SmallMaster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DET_SIZE": "2",
        "DET_LOCAL_SIZE": "1",
        "DET_CROSS_RANK": "1",
        "DET_RESOURCES_ID": "1",
        "CUDA_VISIBLE_DEVICES": "GPU-5",
    }.items():
        monkeypatch.setenv(name, value)
    info = det.get_cluster_info()
    assert info is not None
    assert (info.container_rank, len(info.container_addrs), info.container_slot_counts) == (1, 2, [1, 1])
    assert info.gpu_uuids == ["GPU-5"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (3, "batch_metrics is a int; it must be a list with a dict for each batch"),
        ([3], r"batch_metrics\[0\] is a int"),
        ({"loss": 1}, "batch_metrics is a dict"),
        ([{"loss": 1}, {"acc": 1}], r"batch_metrics\[1\] has the names \['acc'\] and batch_metrics\[0\] \['loss'\]"),
    ],
)
def test_metrics_of_batches_are_a_list_of_dicts_with_the_same_names(
    rows: Any, message: str, master: SmallMaster
) -> None:
    with core.init() as context, pytest.raises((TypeError, ValueError), match=message):
        context.train.report_training_metrics(1, {"loss": 1.0}, rows)
    assert not master.metrics("training")


def test_a_metric_that_cannot_be_sent_is_named(master: SmallMaster) -> None:
    with core.init() as context:
        with pytest.raises(TypeError, match=r"^metrics\['loss'\] is a value of the type object"):
            context.train.report_validation_metrics(1, {"loss": object()})
        with pytest.raises(TypeError, match=r"^batch_metrics\[0\]\['loss'\] is a value of the type object"):
            context.train.report_training_metrics(1, {"loss": 1.0}, [{"loss": object()}])
        with pytest.raises(TypeError, match=r"^metadata\['a'\]\['b'\] is a value of the type object"):
            context.train.set_metadata({"a": {"b": object()}})


def test_an_operation_has_to_be_completed_before_the_next(master: SmallMaster) -> None:
    with core.init() as context, pytest.raises(RuntimeError, match="length 9 is not completed"):
        for _ in context.searcher.operations():
            pass


def test_an_operation_that_the_process_starts_with_is_begun_once_without_asking(master: SmallMaster) -> None:
    _searcher.begin_with(9)
    lengths = []
    with core.init() as context:
        for operation in context.searcher.operations():
            lengths.append(operation.length)
            operation.report_completed(0.25)
    assert lengths == [9, 16]
    assert master.known_operations()[0] == 1
    master.asked.clear()
    with core.init() as context:
        assert list(context.searcher.operations()) == []
    assert master.known_operations()[0] == 0


def test_the_chief_tells_the_master(master: SmallMaster) -> None:
    with core.init() as context:
        assert context.searcher.get_configured_units() is core.Unit.EPOCHS
        for operation in context.searcher.operations():
            assert operation.unit is core.Unit.EPOCHS
            context.train.report_training_metrics(operation.length, {"loss": math.nan}, [{"loss": 1.0}])
            context.train.report_validation_metrics(operation.length, {"loss": 0.25})
            operation.report_progress(operation.length / 2)
            operation.report_completed(0.25)
            with pytest.raises(RuntimeError, match="already completed"):
                operation.report_completed(0.25)
        assert context.train.get_experiment_best_validation() == 0.25
        with context.checkpoint.store_path({"steps_completed": 16}) as (path, uuid):
            (path / "model").write_text("m")
    assert master.completed == {9: 0.25, 16: 0.25}
    report = master.metrics("training")[0]
    assert (report["trialId"], report["trialRunId"], report["stepsCompleted"]) == (7, 2, 9)
    assert report["metrics"] == {"avgMetrics": {"loss": "NaN"}, "batchMetrics": [{"loss": 1.0}]}
    assert master.calls("/progress")[0] == {"progress": 0.5, "is_raw": True}
    (checkpoint,) = master.checkpoints()
    assert (checkpoint["uuid"], checkpoint["metadata"]) == (uuid, {"steps_completed": 16})
    assert checkpoint["resources"]["model"] == "1"


def test_the_master_hears_of_a_checkpoint_before_anything_of_it_is_in_storage(
    master: SmallMaster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[list[str]] = []
    answer = master.post

    def post(path: str, body: Any) -> tuple[int, Any]:
        if path == "/api/v1/trials/7/checkpoints/begin":
            stored.append([file.name for file in (tmp_path / "storage").iterdir()])
        return answer(path, body)

    monkeypatch.setattr(master, "post", post)
    with core.init() as context, context.checkpoint.store_path({"steps_completed": 16}) as (path, uuid):
        (path / "model").write_text("m")
    assert stored == [[]]
    said = [(path, body["uuid"]) for path, body in master.told if "/checkpoints" in path]
    assert said == [("/api/v1/trials/7/checkpoints/begin", uuid), ("/api/v1/checkpoints", uuid)]


def test_a_trial_says_of_itself_what_it_wants(master: SmallMaster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with core.init() as context:
        context.train.set_metadata({"data": {"version": 3}})
        context.train.set_metadata({"data": {"version": 4}})
        assert context.train.get_metadata() == {"data": {"version": 4}}
        with pytest.raises(TypeError, match="metadata is a list; it must be a dict"):
            context.train.set_metadata([1])  # type: ignore[arg-type]
        context.alert("disk", "nearly full", level="warning")
        context.alert(title="done", level=logging.INFO)
        for wrong in ({}, {"title": "x", "level": "LOUD"}):
            with pytest.raises(ValueError, match="needs a title or a description, and a level"):
                context.alert(**wrong)  # type: ignore[arg-type]
    assert master.calls("/runs/7/metadata")[-1] == {"runId": 7, "metadata": {"data": {"version": 4}}}
    alerts = [(r.levelname, r.message) for r in caplog.records if r.message.startswith("alert")]
    assert alerts == [("WARNING", "alert: disk: nearly full"), ("INFO", "alert: done")]
    told = master.calls("/webhooks/custom")
    assert [call["data"]["level"] for call in told] == ["LOG_LEVEL_WARNING", "LOG_LEVEL_INFO"]
    assert (told[0]["trialId"], told[0]["data"]["title"], told[0]["data"]["description"]) == (7, "disk", "nearly full")


def test_preemption_is_told_and_acknowledged_once(master: SmallMaster) -> None:
    master.preempt_after = 9
    with core.init() as context:
        assert not context.preempt.should_preempt()
        context.train.report_training_metrics(9, {"loss": 1})
        end = time.monotonic() + 10
        while not context.preempt.should_preempt(auto_ack=False):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert master.calls("/signals/ack_preemption") == []
        assert context.preempt.should_preempt()
        assert context.preempt.should_preempt()
    assert master.calls("/signals/ack_preemption") == [{}]


def test_the_first_question_for_preemption_does_not_wait_for_a_master_that_is_away(
    master: SmallMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined.core._preempt._FIRST_SECONDS", 0.1)
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
        master.close()
        assert not context.preempt.should_preempt()


def test_a_dead_allocation_ends_the_process_with_its_status(master: SmallMaster) -> None:
    master.gone_after = 0
    with pytest.raises(SystemExit) as ended, core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
    assert ended.value.code == 80


def test_the_end_of_a_script_is_no_outage(master: SmallMaster, caplog: pytest.LogCaptureFixture) -> None:
    with core.init() as context:
        context.train.set_status("busy")
        assert not context.preempt.should_preempt()
        time.sleep(0.3)  # until it waits for a preemption
    assert "does not answer" not in caplog.text


def test_refused_hyperparameters_end_the_process_well(master: SmallMaster) -> None:
    with pytest.raises(SystemExit) as ended, core.init():
        raise det.InvalidHP("no")
    assert ended.value.code == 0
    assert master.calls("/early_exit") == [{"reason": "EXITED_REASON_INVALID_HP"}]


def test_several_slots_need_a_distributed_context(master: SmallMaster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_SIZE", "4")
    with pytest.raises(ValueError, match="4 slots"):
        core.init()


def test_an_outage_of_the_master_is_waited_for() -> None:
    served = SmallMaster([1])
    port = int(served.url.rpartition(":")[2])
    served.close()
    again: list[SmallMaster] = []

    def restart() -> None:
        time.sleep(0.4)
        again.append(SmallMaster([1], port=port))

    thread = threading.Thread(target=restart)
    thread.start()
    connection = Master(served.url, "t")
    connection.post("/api/v1/x", {"n": 2})
    thread.join()
    assert again[0].told == [("/api/v1/x", {"n": 2})]
    connection.close()
    with pytest.raises(ConnectionAbortedError):
        connection.get("/api/v1/x")
    again[0].close()


@pytest.fixture
def kept_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connection, "_idle", _connection._Idle())
    _connection.keep_for_the_next_trial()


def call_of_a_trial(master: SmallMaster, path: str = "/api/v1/x") -> Any:
    """Calls as a trial of its own does; returns the socket."""
    connection = Master(master.url, "t")
    connection.post(path, {})
    assert connection._connection is not None
    used = connection._connection.sock
    connection.close()
    return used


def test_trials_of_one_process_use_one_connection(master: SmallMaster, kept_connections: None) -> None:
    first = call_of_a_trial(master)
    assert call_of_a_trial(master) is first
    assert len(master.calls("/x")) == 2
    other = SmallMaster([1])
    assert call_of_a_trial(other) is not first, "it leads to another master"
    other.close()


def test_a_kept_connection_that_the_master_has_closed_is_no_outage(
    master: SmallMaster, kept_connections: None, caplog: pytest.LogCaptureFixture
) -> None:
    first = call_of_a_trial(master)
    first.shutdown(socket.SHUT_RDWR)
    assert call_of_a_trial(master) is not first
    assert len(master.calls("/x")) == 2
    assert "does not answer" not in caplog.text


def test_a_connection_whose_answer_was_not_read_is_not_used_for_the_next_call(
    master: SmallMaster, kept_connections: None
) -> None:
    connection = Master(master.url, "t")
    connection.post("/api/v1/x", {})
    assert connection._connection is not None
    connection._connection.request("GET", "/api/v1/trials/7/metadata")  # interrupted here, by a signal
    connection.close()
    with pytest.raises(errors.NotFoundException):
        Master(master.url, "t").get("/api/v1/nothing")


def test_two_connections_at_once_are_two(master: SmallMaster, kept_connections: None) -> None:
    call_of_a_trial(master)
    one, two = Master(master.url, "t"), Master(master.url, "t")
    for connection in (one, two):
        connection.post("/api/v1/x", {})
    assert one._connection is not two._connection
    one.close()
    two.close()
    with pytest.raises(ConnectionAbortedError):
        two.post("/api/v1/x", {})


def test_an_error_of_the_master_has_its_words(master: SmallMaster) -> None:
    connection = Master(master.url, "t")
    with pytest.raises(errors.NotFoundException):
        connection.get("/api/v1/nothing")
    connection.close()


def test_a_checkpoint_is_stored_while_the_script_goes_on(tmp_path: pathlib.Path) -> None:
    with core.init(checkpoint_storage=tmp_path) as context:
        publish, may_store = context.checkpoint._storage.publish, threading.Event()

        def slow(uuid: str, draft: str) -> Any:
            assert may_store.wait(60)
            return publish(uuid, draft)

        context.checkpoint._storage.publish = slow  # type: ignore[method-assign]
        with context.checkpoint.store_path({"steps_completed": 1}, wait=False) as (path, first):
            (path / "file").write_text("one")
        assert not (tmp_path / first).exists()
        threading.Timer(0.2, may_store.set).start()
        with context.checkpoint.store_path({"steps_completed": 2}, wait=False) as (path, second):
            assert (tmp_path / first / "file").read_text() == "one", "the second waits for the first"
            (path / "file").write_text("two")
    assert (tmp_path / second / "file").read_text() == "two", "the end of the context waits"
    assert json.loads((tmp_path / second / "metadata.json").read_text()) == {"steps_completed": 2}


def test_what_failed_in_the_background_is_raised_by_the_next_call(tmp_path: pathlib.Path) -> None:
    context = core.init(checkpoint_storage=tmp_path)

    def refuse(uuid: str, draft: str) -> Any:
        raise OSError("no space left")

    context.checkpoint._storage.publish = refuse  # type: ignore[method-assign]
    for wait in (
        context.checkpoint.wait,
        lambda: context.checkpoint.upload(tmp_path, {"steps_completed": 1}),
        lambda: context.checkpoint.store_path({"steps_completed": 1}).__enter__(),
        lambda: context.__exit__(None, None, None),
    ):
        with context.checkpoint.store_path({"steps_completed": 1}, wait=False):
            pass
        with pytest.raises(OSError, match="no space left"):
            wait()
    context.checkpoint.wait()


def test_an_error_in_the_block_leaves_no_draft(tmp_path: pathlib.Path) -> None:
    context = core.init(checkpoint_storage=tmp_path)
    with pytest.raises(ZeroDivisionError), context.checkpoint.store_path({"steps_completed": 1}):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
