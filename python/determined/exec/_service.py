"""Code shared by the programs of interactive tasks: listening, and reporting to the master."""

from __future__ import annotations

import hmac
import http.client
import importlib.util
import json
import os
import pathlib
import secrets
import signal
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from determined._ranks._meeting import is_loopback, source_address
from determined.common.api._tls import advice, connection, trust_of

_PATIENCE_SECONDS = 600.0
_PAUSE_SECONDS = 1.0
_LOOK_SECONDS = 2.0


class Refused(Exception):
    """The master refused a call; retrying would not help."""


class Service:
    """The service of this process's task.

    Only the master may use it, although everyone on the machine can connect to its port. The master gets
    :attr:`secret`, and adds it to each request that it forwards for a logged-in user.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.task_id = environment["DET_TASK_ID"]
        self.base = environment.get("DET_PROXY_PATH") or f"/proxy/{self.task_id}/"
        """The prefix of the paths of all requests; it ends with a slash."""
        self.secret = secrets.token_urlsafe(32)
        self._master = environment["DET_MASTER"].rstrip("/")
        self._trust = trust_of(self._master)
        self._token = environment["DET_SESSION_TOKEN"]
        self._idle: bool | None = None
        reached_from = source_address(urllib.parse.urlsplit(self._master).hostname or "127.0.0.1")
        self.host = "127.0.0.1" if is_loopback(reached_from) else "0.0.0.0"
        """The address to listen on: loopback if the master is on this machine."""
        self.config: dict[str, Any] = json.loads(environment.get("DET_TASK_CONFIG") or "{}")

    def listener(self) -> socket.socket:
        """A socket that listens on a free port."""
        return socket.create_server((self.host, 0), backlog=128)

    def allows(self, authorization: str | None) -> bool:
        """Whether a request with this ``Authorization`` header comes from the master."""
        scheme, _, given = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.secret.encode())

    def ready(self, port: int, ssh_port: int = 0, user: str = "") -> None:
        """Tells the master that the service listens on ``port``, and any SSH server for ``user`` on ``ssh_port``.

        Raises:
            Refused: the task has ended, or this is not its process.
            OSError: the master did not respond within ten minutes.
        """
        body: dict[str, Any] = {"port": port, "secret": self.secret}
        if ssh_port:
            body |= {"sshPort": ssh_port, "user": user}
        self.call("POST", f"/api/v1/tasks/{self.task_id}/ready", body)

    def report_idle(self, idle: bool) -> None:
        """Reports whether the service is idle, if that has changed."""
        if idle != self._idle:
            self.call("POST", f"/api/v1/tasks/{self.task_id}/idle", {"idle": idle})
            self._idle = idle

    def watch(self, is_idle: Callable[[], bool]) -> None:
        """Calls ``is_idle`` periodically in a thread, and reports the result to the master."""

        def run() -> None:
            while True:
                try:
                    self.report_idle(is_idle())
                except Refused:
                    return  # the task has ended; the agent ends this process
                except Exception as error:
                    print(f"cannot report whether the task is idle: {error}", file=sys.stderr, flush=True)
                    time.sleep(10 * _LOOK_SECONDS)
                time.sleep(_LOOK_SECONDS)

        threading.Thread(target=run, name="idle", daemon=True).start()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Calls the master's API as this task. Retries for ten minutes while the master does not respond.

        Raises:
            Refused: the master responded with an error.
            OSError: the master did not respond.
        """
        return json.loads(self._answer(method, path, body) or "{}")

    def items(self, path: str) -> list[Any]:
        """Gets all items of a call that streams them, as :meth:`call`."""
        lines = self._answer("GET", path, None).splitlines()
        return [item["result"] for line in lines if line and "result" in (item := json.loads(line))]

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None) -> str:
        data = None if body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        prefix = urllib.parse.urlsplit(self._master).path
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            link = connection(self._master, 30, self._trust)
            try:
                link.request(method, prefix + path, data, headers)
                reply = link.getresponse()
                text = reply.read().decode(errors="replace")
                if reply.status < 300:
                    return text
                if reply.status not in (502, 503, 504) or time.monotonic() > end:
                    raise Refused(f"{method} {path} was answered with {reply.status}: {_reason(text)}")
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > end:
                    raise OSError(f"the master at {self._master} does not respond ({error}){advice(error)}") from error
            finally:
                link.close()
            time.sleep(_PAUSE_SECONDS)


def environment_with(module: str, title: str, *packages: str) -> str | None:
    """The Python interpreter of an environment with these packages, which is built once per machine; None if this
    process can already import ``module``.

    Raises:
        InvalidExperimentException: pip could not install them.
    """
    from determined.exec import _requirements

    if importlib.util.find_spec(module) is not None:
        return None
    layer = _requirements.Layer(title, packages, pathlib.Path.cwd())
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    return str(home / "bin" / "python")


def end_on_signals() -> None:
    """Makes SIGTERM and SIGINT end this process with ``sys.exit``, so that it cleans up."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))


def _reason(text: str) -> str:
    try:
        return str(json.loads(text)["error"]["error"])
    except (ValueError, KeyError, TypeError):
        return text[:200]
