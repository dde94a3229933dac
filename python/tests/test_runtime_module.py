"""The compiled module: its exceptions, its storage, and its client against a small HTTP server."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

_runtime = pytest.importorskip("determined._runtime", reason="the tree was built without the C++ module")

UUID = "0e1f2a3b-0000-4000-8000-000000000001"


class Master(http.server.ThreadingHTTPServer):
    """Says yes to everything, remembers it, and can hold its answers back."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reports: list[tuple[str, Any]] = []
        self.gone = False
        self.hold = threading.Event()
        self.hold.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes in the middle of a long poll is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Master

    def do_GET(self) -> None:
        if "signals/preemption" in self.path:
            time.sleep(0.2)
            self._answer({"preempt": False})
        elif "searcher/operation" in self.path:
            operations = [{"length": "100", "completed": False}, {"length": 200, "completed": False}]
            self._answer({"operations": operations, "closed": False, "unit": "batches"})
        else:
            self._answer({"error": {"error": "no metric yet"}}, status=404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.hold.wait()
        if self.server.gone:
            self._answer({"error": {"error": "allocation 7.a.1 has ended"}}, status=410)
            return
        self.server.reports.append((self.path, body))
        self._answer({})

    def _answer(self, body: Any, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    server = Master()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name, value in {
        "DET_MASTER": f"http://127.0.0.1:{server.server_address[1]}",
        "DET_SESSION_TOKEN": "token",
        "DET_EXPERIMENT_ID": "7",
        "DET_TRIAL_ID": "12",
        "DET_TRIAL_RUN_ID": "1",
        "DET_TASK_ID": "7.a",
        "DET_ALLOCATION_ID": "7.a.1",
    }.items():
        monkeypatch.setenv(name, value)
    yield server
    server.hold.set()
    server.shutdown()
    server.server_close()


def test_reports_arrive_in_the_order_of_the_calls(master: Master) -> None:
    client = _runtime.Client.from_environment()
    assert list(client.operations(0, 1.0).lengths) == [100, 200]
    for batches in range(1, 31):
        client.report_training(batches, '{"loss": 0.5}', '[{"loss": 0.5}]')
    client.report_validation(30, '{"error": 0.25}')
    client.begin_checkpoint(UUID)
    client.report_checkpoint(UUID, 30, {"model.pth": 7}, '{"framework": "torch"}')
    client.complete_operation(100, 0.25)
    client.close()
    client.close()
    steps = [body["metrics"]["stepsCompleted"] for path, body in master.reports if path.endswith("/metrics")]
    assert steps == [*range(1, 31), 30]
    names = [path.rpartition("/")[2] for path, _ in master.reports[-3:]]
    assert names == ["begin", "checkpoints", "completed_operation"]
    assert master.reports[-3] == ("/api/v1/trials/12/checkpoints/begin", {"uuid": UUID})


def test_numbers_that_json_lacks_may_stand_bare(master: Master) -> None:
    client = _runtime.Client.from_environment()
    client.report_training(1, json.dumps({"loss": float("nan")}), json.dumps([{"loss": float("-inf")}]))
    client.report_validation(1, json.dumps({"loss": float("inf")}))
    assert client.best_validation() is None
    metrics = [body["metrics"]["metrics"] for _, body in master.reports]
    assert metrics[0] == {"avgMetrics": {"loss": "NaN"}, "batchMetrics": [{"loss": "-Infinity"}]}
    assert metrics[1] == {"avgMetrics": {"loss": "Infinity"}}


def test_gone_is_a_separate_exception(master: Master) -> None:
    client = _runtime.Client.from_environment()
    master.gone = True
    with pytest.raises(_runtime.Gone, match=r"allocation 7\.a\.1 has ended"):
        client.report_validation(1, "{}")
    with pytest.raises(_runtime.Gone):
        client.preempt_requested()


def test_invalid_json_is_reported_with_its_argument(master: Master) -> None:
    client = _runtime.Client.from_environment()
    with pytest.raises(ValueError, match="avg_metrics_json"):
        client.report_training(1, "[1]", "[]")
    with pytest.raises(ValueError, match="batch_metrics_json"):
        client.report_training(1, "{}", "{")


def test_a_call_that_waits_leaves_other_python_threads_running(master: Master) -> None:
    client = _runtime.Client.from_environment()
    master.hold.clear()
    threading.Timer(0.2, master.hold.set).start()  # runs only because the lock is released
    client.report_validation(1, "{}")
    assert len(master.reports) == 1


def test_a_signal_ends_a_call_that_waits(master: Master) -> None:
    client = _runtime.Client.from_environment()
    master.hold.clear()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(KeyboardInterrupt):
            client.report_validation(1, "{}")
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DET_MASTER", raising=False)
    with pytest.raises(RuntimeError, match="DET_MASTER is not set"):
        _runtime.Client.from_environment()


def storage(root: pathlib.Path) -> Any:
    config = {"type": "shared_fs", "host_path": str(root), "storage_path": "ckpts", "save_trial_best": 1}
    return _runtime.CheckpointStorage.from_config_json(json.dumps(config), "/nowhere/mounted")


def test_a_checkpoint_comes_back_as_it_was_saved(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    (source / "code").mkdir(parents=True)
    (source / "model.pth").write_bytes(b"weights")
    (source / "code" / "trial.py").write_text("")
    shared = storage(tmp_path / "shared")
    assert shared.save(str(source), UUID) == {"code/": 0, "code/trial.py": 0, "model.pth": 7}
    shared.restore(UUID, str(tmp_path / "target"))
    assert (tmp_path / "target" / "model.pth").read_bytes() == b"weights"
    assert shared.place(UUID) == str(tmp_path / "shared" / "ckpts" / UUID)


def test_a_damaged_file_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "model.pth").write_bytes(b"weights")
    shared = storage(tmp_path / "shared")
    shared.save(str(tmp_path / "source"), UUID)
    (tmp_path / "shared" / "ckpts" / UUID / "model.pth").write_bytes(b"wEights")
    with pytest.raises(RuntimeError, match=r"model\.pth is damaged"):
        shared.verify(UUID)
    with pytest.raises(FileNotFoundError, match="checkpoint other: checkpoint not found"):
        shared.restore("other", str(tmp_path / "target"))


def test_a_wrong_storage_path_is_refused() -> None:
    config = {"type": "shared_fs", "host_path": "/data", "storage_path": "/data-secret"}
    with pytest.raises(ValueError, match="/data-secret"):
        _runtime.CheckpointStorage.from_config_json(json.dumps(config), "")


def test_new_uuids_leave_the_seeded_generators_alone() -> None:
    import random

    random.seed(1)
    expected = random.random()
    random.seed(1)
    assert _runtime.new_uuid() != _runtime.new_uuid()
    assert random.random() == expected


def test_a_saved_state_comes_back_from_json() -> None:
    state = _runtime.LoopState(batches_trained=200, batches_checkpointed=200, best=0.5, validation_is_best=True)
    assert _runtime.LoopState.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    with pytest.raises(ValueError, match="is inconsistent"):
        _runtime.LoopState.from_dict({"batches_trained": 5, "batches_checkpointed": 6})
    with pytest.raises(ValueError, match="checkpoint_policy"):
        _runtime.LoopConfig(checkpoint_policy="sometimes")


def test_importing_it_takes_milliseconds_and_starts_no_thread() -> None:
    program = (
        "import time, os; import determined; start = time.perf_counter(); from determined import _runtime;"
        "print(time.perf_counter() - start, len(os.listdir('/proc/self/task')))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert {threads for _, threads in runs} == {"1"}
