"""Sessions and connections of tasks with the addresses of several masters; with real ones: `test_several_masters.py`
of the end-to-end tests."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from determined.common.api import Session, errors
from determined.common.api._leader import Masters
from determined.common.api._master import _groups, master_urls
from determined.core._connection import Master


class Server(http.server.ThreadingHTTPServer):
    """Leads, or stands by and names the leader."""

    def __init__(self, leads: bool = False, leader: str = "unknown") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.leads, self.leader, self.calls = leads, leader, 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.calls += 1
        body = json.dumps({"port": self.server.server_port} if self.server.leads else {"message": "stands by"}).encode()
        self.send_response(200 if self.server.leads else 503)
        if not self.server.leads:
            self.send_header("Det-Leader", self.server.leader)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815


Start = Callable[..., Server]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("DET_USER_TOKEN", "t")
    _groups.clear()
    started: list[Server] = []

    def starter(*settings: Any) -> Server:
        started.append(Server(*settings))
        return started[-1]

    yield starter
    for server in started:
        server.shutdown()
        server.server_close()


def nowhere() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_session_finds_the_leader_and_stays_there(start: Start) -> None:
    standby, leader = start(), start(True)
    session = Session(f"{nowhere()},{standby.url},{leader.url}")
    for _ in range(3):
        assert session.post("/x") == {"port": leader.server_port}
    assert standby.calls == 1 and session.master == leader.url


def test_a_session_follows_a_standby_that_names_the_leader(start: Start) -> None:
    leader = start(True)
    assert Session(start(False, leader.url).url).get("/x") == {"port": leader.server_port}


def test_a_session_waits_until_one_leads(start: Start) -> None:
    standby = start()
    threading.Timer(0.3, lambda: setattr(standby, "leads", True)).start()
    assert Session(f"{nowhere()},{standby.url}").post("/x") == {"port": standby.server_port}


def test_the_connection_of_a_task_finds_the_leader_by_one_address_of_several(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    standby, leader = start(), start(True)
    monkeypatch.setenv("DET_MASTERS", f"{standby.url},{leader.url}")
    master = Master(standby.url, "t")
    assert master.post("/x", {}) == {"port": leader.server_port}
    leader.leads, standby.leads = False, True
    assert master.post("/x", {}) == {"port": standby.server_port}
    assert master_urls("http://elsewhere:1") == ["http://elsewhere:1"]


def test_a_master_that_is_frozen_is_left_for_the_one_that_leads(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("determined.common.api._leader._CHECK_SECONDS", 0.05)
    leader = start(True)
    with socket.create_server(("127.0.0.1", 0)) as frozen:  # takes connections, and never answers
        urls = f"http://127.0.0.1:{frozen.getsockname()[1]},{leader.url}"
        session = Session(urls)
        with pytest.raises(errors.MasterNotFoundException, match="leads now"):
            session.post("/x")  # the frozen one may have done it
        assert session.post("/x") == {"port": leader.server_port}
        began = time.monotonic()
        assert Master(urls, "t").post("/x", {}) == {"port": leader.server_port}  # reports may be repeated
        assert time.monotonic() - began < 10


def test_a_master_whose_connection_broke_gets_no_second_call_before_it_answers(start: Start) -> None:
    standby, methods = start(), []
    with socket.create_server(("127.0.0.1", 0)) as dying:  # takes connections, and breaks each once a call was sent

        def die() -> None:
            while True:
                connection, _ = dying.accept()
                with connection:
                    methods.append(connection.recv(65536).split()[0])
                    standby.leads = methods.count(b"GET") > 1

        threading.Thread(target=die, daemon=True).start()
        standby.leader = f"http://127.0.0.1:{dying.getsockname()[1]}"
        session = Session(f"{standby.leader},{standby.url}")
        with pytest.raises(errors.MasterNotFoundException):
            session.post("/x")  # the dying one may have done it
        assert session.post("/x") == {"port": standby.server_port}
        assert methods == [b"POST", b"GET", b"GET"]


def test_a_leader_is_believed_only_where_it_can_be() -> None:
    masters = Masters(["https://a:1"], None)
    masters.move("http://b:1")
    assert masters.url == "https://a:1"
    masters.move("https://127.0.0.1:1")
    assert masters.url == "https://a:1"
    masters.move("unknown")
    assert masters.url == "https://a:1"
    masters.move("https://b:1")
    assert masters.url == "https://b:1"
