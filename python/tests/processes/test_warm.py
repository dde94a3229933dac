"""A trial in a fork of the warm worker gives the numbers of one in a fresh process."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest
from small_master import SmallMaster
from warm_worker import WarmWorker

from determined.exec import warm

TESTS = pathlib.Path(__file__).parents[1]
MODEL = """
import random
import torch
AT_IMPORT = [torch.rand(3).tolist(), random.random()]
import numpy
AT_IMPORT.append(float(numpy.random.rand()))
import logging
from trials import EverythingTrial
class MyTrial(EverythingTrial):
    workers = 1
"""


def numbers(kind: str, definition: pathlib.Path) -> Any:
    done = subprocess.run(
        [sys.executable, str(TESTS / "warm_numbers.py"), kind, str(definition)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_warm_and_cold_give_the_same_numbers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text(MODEL)
    cold, warmed = (numbers(kind, tmp_path) for kind in ("cold", "warm"))
    assert warmed == cold
    assert cold["threads"] == 2
    assert cold["environment"]["COLOUR"] == "of the task"
    assert cold["path"] == str(tmp_path)


def test_a_trial_of_the_worker_reports_what_one_of_its_own_process_does(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)
    from test_exec import MODEL, environment, run_cold

    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "model_def.py").write_text(MODEL)
    cold, warmed = SmallMaster([9, 16]), SmallMaster([9, 16])
    fresh = run_cold(environment(cold, tmp_path))
    assert fresh.returncode == 0, fresh.stderr
    worker = WarmWorker()
    forked = worker.run(environment(warmed, tmp_path), tmp_path / "task")
    assert (forked.returncode, forked.stdout) == (0, fresh.stdout)
    assert warmed.numbers() == cold.numbers()
    assert warmed.completed == cold.completed
    assert worker.close() == 0
    cold.close()
    warmed.close()


def ask(client: socket.socket, request: bytes) -> Any:
    client.send(request)
    return json.loads(client.recv(1 << 16))


class Served:
    """The worker's serving loop in a process of its own."""

    def __init__(self, *, listening: bool) -> None:
        self.client, served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.address = b""
        if listening:
            served.close()
            self.client.close()
            served = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            served.bind("")
            served.listen()
            self.address = served.getsockname()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.client.close()
                warm.serve(served, run_in_directory)
                os._exit(7)
            finally:
                os._exit(1)
        served.close()
        if listening:
            self.client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.client.connect(self.address)

    def ended(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


def run_in_directory(directory: str, task: Any) -> int:
    """What stands for the shim here writes down that it ran, and where."""
    (pathlib.Path(directory) / "ran").write_text(str(os.getpid()))
    return 0


@pytest.mark.parametrize("listening", [False, True])
def test_a_request_starts_a_process_and_answers_with_its_number(listening: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "spec.json").write_text("{}")
    with Served(listening=listening) as worker:
        answer = ask(worker.client, json.dumps({"directory": str(tmp_path)}).encode())
        for _ in range(200):
            if (tmp_path / "ran").exists() and (tmp_path / "ran").read_text():
                break
            time.sleep(0.05)
        assert (tmp_path / "ran").read_text() == str(answer["pid"])
        if listening:
            os.kill(worker.pid, signal.SIGKILL)
            worker.ended()


def test_a_wrong_request_is_answered_and_the_worker_goes_on(tmp_path: pathlib.Path) -> None:
    with Served(listening=False) as worker:
        assert "has no spec.json" in ask(worker.client, json.dumps({"directory": str(tmp_path)}).encode())["error"]
        assert "key directory" in ask(worker.client, b"nonsense")["error"]
        assert "key directory" in ask(worker.client, b"[]")["error"]


def test_the_worker_ends_with_its_agent() -> None:
    worker = Served(listening=False)
    worker.client.close()
    assert worker.ended() == 7


def test_the_environment_of_the_process_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    monkeypatch.setenv("STAYS", "1")
    libc = ctypes.CDLL(None)
    libc.setenv(b"FROM_BELOW", b"2", 1)
    assert "FROM_BELOW" not in os.environ
    warm.take_environment()
    assert (os.environ["FROM_BELOW"], os.environ["STAYS"]) == ("2", "1")
    del os.environ["FROM_BELOW"]


def test_a_fork_finds_no_gpu_as_a_fresh_process_does() -> None:
    code = (
        "import os, torch; from determined.exec import warm; warm.warm_up(); pid = os.fork()\n"
        "if pid == 0: os._exit(torch.cuda._is_in_bad_fork() or 'CUDA_VISIBLE_DEVICES' in os.environ)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    unset = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    assert subprocess.run([sys.executable, "-c", code], cwd=TESTS.parent, env=unset, timeout=120).returncode == 0
