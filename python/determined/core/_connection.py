"""The connection of a task to its master."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import threading
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from determined import _metrics
from determined.common.api import errors
from determined.common.api._leader import LEADER_HEADER, Masters
from determined.common.api._master import master_urls
from determined.common.api._tls import Trust, advice, trust_of

logger = logging.getLogger("determined")

_DELAYS = (0.1, 0.2, 0.5, 1.0, 2.0)  # then the last for ever
_TRY_LATER = (502, 503, 504)


class _Idle:
    """The connection of a trial that has ended, for the next one in this process; unless it uses TLS, whose settings
    are a trial's own.
    """

    def __init__(self) -> None:
        self.kept = False
        self._lock = threading.Lock()
        self._url = ""
        self._connection: http.client.HTTPConnection | None = None

    def put(self, url: str, connection: http.client.HTTPConnection) -> bool:
        """Whether it was taken; if not, the caller has to close it."""
        with self._lock:
            if not self.kept or url.startswith("https:") or self._connection is not None:
                return False
            self._url, self._connection = url, connection
            return True

    def take(self, url: str) -> http.client.HTTPConnection | None:
        with self._lock:
            found, self._connection = self._connection, None
        if found is not None and self._url != url:
            found.close()
            return None
        return found


_idle = _Idle()


def keep_for_the_next_trial() -> None:
    """From now on, a connection that is closed stays open for the next trial of this process."""
    _idle.kept = True


class Master:
    """A persistent connection to the master. It waits for as long as the master is unavailable.

    ``url`` may have several addresses, as :func:`master_urls` reads them: calls go to the master that leads.

    ``trust`` selects the certificates that an https address may have; the environment sets the default.

    With ``patience``, a call waits only for that many seconds and then raises ConnectionAbortedError.

    Every call may raise ``GoneException``: the allocation has ended, and nothing more may be written.

    Thread-safe; calls are executed one after the other.
    """

    def __init__(self, url: str, token: str, patience: float | None = None, trust: Trust | None = None) -> None:
        self._patience = patience
        urls = master_urls(url)
        self._masters = Masters(urls, trust or trust_of(max(urls, key=lambda one: one.startswith("https:"))))
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._closed = threading.Event()

    def get(self, path: str, params: Mapping[str, Any] | None = None, timeout: float = 60.0) -> Any:
        """Sends a GET request. ``timeout`` is how many seconds the master may take. Raises GoneException."""
        query = f"?{urllib.parse.urlencode(params)}" if params else ""
        return self._call("GET", path + query, None, timeout)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends a POST request. The body may contain any value that a metric may have. Durable on return."""
        return self._call("POST", path, _metrics.to_json(body), 60.0)

    def post_text(self, path: str, text: str) -> Any:
        """Sends a POST request whose body is JSON already."""
        return self._call("POST", path, text, 60.0)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("PUT", path, _metrics.to_json(body), 60.0)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("PATCH", path, _metrics.to_json(body), 60.0)

    def delete(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("DELETE", path, _metrics.to_json(body), 600.0)

    def close(self) -> None:
        """Closes the connection. A call in progress raises ConnectionAbortedError."""
        self._closed.set()
        open_one = self._connection
        if self._lock.acquire(blocking=False):  # no call is in progress
            self._connection = None
            self._lock.release()
            if open_one is not None and _idle.put(self._masters.url, open_one):
                return
        if open_one is not None and open_one.sock is not None:
            with contextlib.suppress(OSError):
                open_one.sock.shutdown(2)

    def _call(self, method: str, path: str, body: str | None, timeout: float) -> Any:
        with self._lock:
            attempt = 0
            started = time.monotonic()
            while True:
                if self._closed.is_set():
                    raise ConnectionAbortedError("the connection to the master is closed")
                answer = self._try(method, path, body, timeout)
                if not isinstance(answer, str):
                    if attempt >= len(self._masters):
                        logger.info("the master answers again")
                    return self._read(*answer)
                if self._patience is not None and time.monotonic() - started > self._patience:
                    raise ConnectionAbortedError(f"the master does not answer ({answer})")
                if attempt == len(self._masters) - 1 and not self._closed.is_set():
                    logger.warning("the master does not answer (%s); retrying", answer)
                self._closed.wait(_DELAYS[min(attempt, len(_DELAYS) - 1)])
                attempt += 1

    def _try(self, method: str, path: str, body: str | None, timeout: float) -> tuple[int, bytes] | str:
        """Returns status and text of a final answer, or the reason to retry."""
        asked = self._masters.url
        if self._connection is None and not self._masters.several:
            self._connection = _idle.take(asked)
        fresh = self._connection is None
        if self._connection is not None and self._connection.sock is not None:
            self._connection.timeout = timeout + 15
            self._connection.sock.settimeout(timeout + 15)
        try:
            if self._connection is None or self._connection.sock is None:
                self._connection = self._masters.open(timeout + 15)
            if self._closed.is_set():  # close() may have come before there was a socket that it could end
                raise ConnectionAbortedError("closed")
            prefix = urllib.parse.urlsplit(self._masters.url).path
            self._connection.request(method, prefix + path, body, self._headers)
            self._masters.await_answer(self._connection)
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            # A connection that lay idle may have been closed at the other end; that is no outage.
            why = f"{error}{advice(error)}"
            if not fresh and not self._closed.is_set() and self._masters.url == asked:
                return self._try(method, path, body, timeout)
            self._masters.leave(asked)
            return why
        if response.status == 503 and LEADER_HEADER in response.headers:
            self._connection.close()
            self._connection = None
            self._masters.move(response.headers[LEADER_HEADER])
        if response.status in _TRY_LATER:
            return f"status {response.status}"
        return response.status, text

    @staticmethod
    def _read(status: int, text: bytes) -> Any:
        document = json.loads(text) if text.strip() else {}
        if status < 300:
            return document
        error = document.get("error")
        message = error.get("error") or error.get("message") if isinstance(error, dict) else document.get("message")
        raise errors.from_status(status, str(message or text.decode(errors="replace")[:500]))


def poll_pause(started: float, least: float) -> None:
    """Waits after a long poll that returned too early, to avoid a busy loop."""
    spent = time.monotonic() - started
    if spent < least:
        time.sleep(least - spent)
