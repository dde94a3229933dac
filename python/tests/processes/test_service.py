"""The programs of interactive tasks, as their master and their users meet them."""

from __future__ import annotations

import base64
import http.server
import json
import os
import pathlib
import queue
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from determined.exec import _service


class Master(http.server.ThreadingHTTPServer):
    """Answers what the programs ask, and remembers what they say."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.said: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.answers: dict[str, Any] = {}
        self.fail_with: list[int] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def environment(self) -> dict[str, str]:
        return {
            "DET_TASK_ID": "t1",
            "DET_MASTER": f"http://127.0.0.1:{self.server_address[1]}",
            "DET_SESSION_TOKEN": "task token",
        }

    def heard(self, path: str) -> dict[str, Any]:
        """What was said there next."""
        while True:
            called, body = self.said.get(timeout=20)
            if called == path:
                return body


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Master

    def _answer(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        known = self.path in self.server.answers
        self._answer(200 if known else 404, self.server.answers.get(self.path, {"error": {"error": "not found"}}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer task token":
            self._answer(401, {})
        elif self.server.fail_with:
            self._answer(self.server.fail_with.pop(), {"error": {"error": "so it is"}})
        else:
            self.server.said.put((self.path, body))
            self._answer(200, {})

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def master() -> Iterator[Master]:
    server = Master()
    yield server
    server.shutdown()
    server.server_close()


def test_a_program_waits_for_an_absent_master_but_stops_at_a_refusal(master: Master) -> None:
    service = _service.Service(master.environment())
    master.fail_with = [503]
    service.ready(8888)
    assert master.heard("/api/v1/tasks/t1/ready") == {"port": 8888, "secret": service.secret}
    master.fail_with = [410]
    with pytest.raises(_service.Refused, match="so it is"):
        service.ready(8888)


def test_idleness_is_reported_only_when_it_changes(master: Master) -> None:
    service = _service.Service(master.environment())
    for idle in (False, False, True, True, False):
        service.report_idle(idle)
    assert [master.said.get_nowait()[1]["idle"] for _ in range(master.said.qsize())] == [False, True, False]


def test_only_the_secret_lets_a_request_in(master: Master) -> None:
    service = _service.Service(master.environment())
    assert service.host == "127.0.0.1", "the master is on this machine"
    assert service.allows(f"Bearer {service.secret}") and service.allows(f"bearer {service.secret}")
    for wrong in (None, "", "Bearer", "Bearer x", f"Basic {service.secret}", service.secret, "Bearer é"):
        assert not service.allows(wrong)
    assert service.secret != _service.Service(master.environment()).secret


class Shell:
    """A client of the shell program."""

    def __init__(self, address: dict[str, Any], wanted: dict[str, Any], secret: str | None = None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", address["port"]), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET /proxy/t1/ HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {secret or address['secret']}\r\n"
            f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline() not in (b"\r\n", b""):
            pass
        if self.status == 101:
            self.say(wanted)

    def send(self, operation: int, payload: bytes) -> None:
        mask = os.urandom(4)
        head = bytes([0x80 | operation, 0x80 | 126]) + struct.pack(">H", len(payload)) + mask
        self._socket.sendall(head + bytes(c ^ mask[i % 4] for i, c in enumerate(payload)))

    def say(self, message: dict[str, Any]) -> None:
        self.send(1, json.dumps(message).encode())

    def type(self, text: str) -> None:
        self.send(2, text.encode())

    def read(self, until: str = "") -> tuple[dict[int, str], dict[str, Any]]:
        """Output by channel, and how it ended; with ``until`` only to that text."""
        out = {1: bytearray(), 2: bytearray()}
        while not until or until.encode() not in out[1]:
            first, size = self._file.read(2)
            if size == 126:
                (size,) = struct.unpack(">H", self._file.read(2))
            payload = self._file.read(size)
            if first & 15 == 1:
                return {k: v.decode() for k, v in out.items()}, json.loads(payload)
            assert first & 15 == 2, f"closed with {payload!r}"
            out[payload[0]] += payload[1:]
        return {k: v.decode() for k, v in out.items()}, {}

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture
def shells(master: Master, tmp_path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Where the shell program answers."""
    environment = {**os.environ, **master.environment(), "SHELL": "/bin/sh"}
    with subprocess.Popen([sys.executable, "-m", "determined.exec.shell"], env=environment, cwd=tmp_path) as program:
        yield master.heard("/api/v1/tasks/t1/ready")
        program.terminate()
        assert program.wait(10) == 0


def test_a_script_reads_standard_input_and_keeps_output_and_errors_apart(shells: dict[str, Any]) -> None:
    shell = Shell(shells, {"tty": False})
    shell.type("echo out; echo err >&2; exit 7\n")
    shell.say({"end_of_input": True})
    assert shell.read() == ({1: "out\n", 2: "err\n"}, {"exit": 7})


def test_a_terminal_has_its_size_and_learns_of_a_new_one(shells: dict[str, Any]) -> None:
    shell = Shell(
        shells, {"tty": True, "columns": 81, "rows": 25, "term": "xterm", "command": "stty size; read x; stty size"}
    )
    shell.read("25 81")
    shell.say({"columns": 100, "rows": 30})
    shell.type("\n")
    out, end = shell.read()
    assert "30 100" in out[1]
    assert end == {"exit": 0}


def test_keys_reach_the_programs_of_a_terminal(shells: dict[str, Any]) -> None:
    program = f"exec {sys.executable} -c 'import time; print(\"on\", flush=True); time.sleep(60)'"
    shell = Shell(shells, {"tty": True, "columns": 80, "rows": 24, "command": program})
    shell.read("on")
    shell.type("\x03")
    assert shell.read()[1] == {"exit": 130}


def test_a_shell_ends_although_something_stays_in_the_background(shells: dict[str, Any]) -> None:
    started = time.monotonic()
    assert Shell(shells, {"tty": False, "command": "sleep 60 & echo done"}).read()[0][1] == "done\n"
    assert time.monotonic() - started < 20


def test_much_output_waits_for_a_slow_reader_and_is_whole(shells: dict[str, Any]) -> None:
    shell = Shell(shells, {"tty": False, "command": "head -c 20000000 /dev/zero | tr '\\0' x"})
    time.sleep(0.5)
    assert len(shell.read()[0][1]) == 20_000_000


def test_no_more_output_is_under_way_than_the_client_has_room_for(shells: dict[str, Any]) -> None:
    wanted = {"tty": False, "window": 50_000, "command": "head -c 200000 /dev/zero | tr '\\0' x"}
    shell = Shell(shells, wanted)
    out = ""
    while len(out) < 50_000:
        out += shell.read("x")[0][1]
    assert len(out) < 50_000 + 16 * 1024, "a piece may go beyond it"
    shell._socket.settimeout(1)
    with pytest.raises(TimeoutError):
        shell.read("x")
    shell._file = shell._socket.makefile("rb")
    shell._socket.settimeout(20)
    taken, end = 0, {}
    while not end:
        shell.say({"taken": len(out) - taken})
        taken = len(out)
        more, end = shell.read("x")
        out += more[1]
    assert (len(out), end) == (200_000, {"exit": 0})


def test_output_that_waits_for_its_reader_outlives_the_program(shells: dict[str, Any]) -> None:
    shell = Shell(shells, {"tty": False, "window": 5, "command": "echo first; sleep 0.3; echo second"})
    shell.read("first")
    time.sleep(2)
    shell.say({"taken": len("first\n")})
    assert shell.read() == ({1: "second\n", 2: ""}, {"exit": 0})


def test_late_keys_find_an_open_connection(shells: dict[str, Any]) -> None:
    shell = Shell(shells, {"tty": False, "command": "echo bye"})
    time.sleep(0.8)
    for _ in range(3):
        shell.type("too late")  # whoever hands this on would give up, and the last words with it
        time.sleep(0.1)
    assert shell.read() == ({1: "bye\n", 2: ""}, {"exit": 0})


def test_a_lost_connection_hangs_the_shell_up(shells: dict[str, Any], tmp_path: pathlib.Path) -> None:
    shell = Shell(
        shells, {"tty": True, "columns": 80, "rows": 24, "command": "trap 'echo > over; exit' HUP; echo on; read x"}
    )
    shell.read("on")
    shell.close()
    end = time.monotonic() + 60
    while not (tmp_path / "over").exists():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_others_on_the_machine_get_no_shell(shells: dict[str, Any]) -> None:
    assert Shell(shells, {}, secret="guessed").status == 401
    with socket.create_connection(("127.0.0.1", shells["port"]), timeout=10) as plain:
        plain.sendall(f"GET / HTTP/1.1\r\nAuthorization: Bearer {shells['secret']}\r\n\r\n".encode())
        assert plain.recv(4096).startswith(b"HTTP/1.1 426")


def test_invalid_frames_end_only_their_connection(shells: dict[str, Any]) -> None:
    for payload in (b"\xff\xff\xff\xff\xff\xff", b"\x81\x05hello", b"\x82\xff\x7f" + b"\xff" * 7 + b"mask"):
        shell = Shell(shells, {"tty": False})
        shell._socket.sendall(payload)
        with pytest.raises((AssertionError, ValueError)):
            shell.read()
        shell.close()
    assert Shell(shells, {"tty": False, "command": "echo still"}).read()[0][1] == "still\n"


def test_a_shell_in_use_is_not_idle(master: Master, shells: dict[str, Any]) -> None:
    assert master.heard("/api/v1/tasks/t1/idle") == {"idle": True}
    shell = Shell(shells, {"tty": False})
    assert master.heard("/api/v1/tasks/t1/idle") == {"idle": False}
    shell.close()
    assert master.heard("/api/v1/tasks/t1/idle") == {"idle": True}
