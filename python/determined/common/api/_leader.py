"""Which of several masters leads."""

from __future__ import annotations

import http.client
import ipaddress
import select
import time
import urllib.parse
from collections.abc import Sequence

from determined.common.api._tls import Trust, connection

LEADER_HEADER = "Det-Leader"
"""A master that stands by answers 503 with this header: the leader's URL, or "unknown"."""

_CONNECT_SECONDS = 2.0  # of one address of several
_CHECK_SECONDS = 3.0
_TAKE_OVER_SECONDS = 10.0
_PAUSE_SECONDS = 0.2


class Masters:
    """The addresses of the masters of a cluster, of which one leads: mostly, there is only one.

    What masters that stand by say of the leader is believed, except that it never leads from https to http, or from
    another machine to a loopback address.
    """

    def __init__(self, urls: Sequence[str], trust: Trust | None) -> None:
        self._urls = list(urls)
        self._given = len(urls)
        self._trust = trust
        self._current = 0
        self._broken: set[str] = set()

    @property
    def url(self) -> str:
        """Where the next call goes."""
        return self._urls[self._current]

    @property
    def several(self) -> bool:
        return len(self._urls) > 1

    def __len__(self) -> int:
        return len(self._urls)

    def unopened(self, timeout: float) -> http.client.HTTPConnection:
        return self._unopened(self.url, timeout)

    def _unopened(self, url: str, timeout: float) -> http.client.HTTPConnection:
        return connection(url, timeout, self._trust if url.startswith("https:") else None)

    def open(self, timeout: float) -> http.client.HTTPConnection:
        """Connects to the current address. Raises OSError."""
        if self.several and self.url in self._broken:
            # The system of a killed process may take one more connection, and breaks it once a call was sent.
            if self._answer(self.url) is None:
                raise ConnectionAbortedError(f"the connection to {self.url} broke, and it does not answer yet")
            self._broken.discard(self.url)
        link = self.unopened(min(timeout, _CONNECT_SECONDS) if self.several else timeout)
        link.connect()
        link.timeout = timeout
        if link.sock is not None:
            link.sock.settimeout(timeout)
        return link

    def leave(self, url: str) -> None:
        """Goes to the next address, unless another one than this is the current one by now: the connection to this one
        broke, so it has to answer a question before it gets another call."""
        self._broken.add(url)
        if self.url == url:
            self.move()

    def move(self, leader: str | None = None) -> None:
        """Leaves the current address for the one that it has named as the leader's, or else for the next."""
        if leader is not None and self._believable(leader):
            if leader not in self._urls:
                self._urls.append(leader)
            self._current = self._urls.index(leader)
        else:
            self._current = (self._current + 1) % len(self._urls)

    def _believable(self, leader: str) -> bool:
        parts = urllib.parse.urlsplit(leader)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(self._urls) > self._given + 8:
            return False
        if self.url.startswith("https:") and parts.scheme != "https":
            return False
        return not _is_loopback(leader) or _is_loopback(self.url)

    def await_answer(self, link: http.client.HTTPConnection) -> None:
        """Waits for the answer to a call that was sent. Raises ConnectionAbortedError if another master leads now:
        this one was suspended, or cut off."""
        if not self.several or link.sock is None:
            return
        end = time.monotonic() + (link.timeout or 60.0)
        while not select.select([link.sock], [], [], _CHECK_SECONDS)[0]:
            asked = self.url
            for index, url in enumerate(self._urls):
                if url != asked and self._leads(url):
                    self._current = index
                    raise ConnectionAbortedError(f"{asked} has not answered, and {url} leads now")
            if time.monotonic() > end:
                raise TimeoutError("timed out")

    def _leads(self, url: str) -> bool:
        return self._answer(url) == 200

    def _answer(self, url: str) -> int | None:
        """The status with which this master says whether it leads; None if it does not answer."""
        link = self._unopened(url, 1.0)
        try:
            link.request("GET", urllib.parse.urlsplit(url).path + "/health")
            return link.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            link.close()


class Search:
    """One call's way to the master that leads, through addresses that have not taken it."""

    def __init__(self, masters: Masters) -> None:
        self._masters = masters
        self._began = time.monotonic()
        self._tried = 0
        self._standby = False

    def goes_on(self, leader: str | None = None) -> bool:
        """The current address did not take the call; a master that stands by may have named the leader. False: all
        addresses were tried for long enough."""
        self._tried += 1
        self._standby = self._standby or leader is not None
        self._masters.move(leader)
        if self._tried % len(self._masters):
            return True
        patience = _TAKE_OVER_SECONDS if self._standby else _TAKE_OVER_SECONDS / 5 if self._masters.several else 0.0
        if time.monotonic() - self._began >= patience:
            return False
        time.sleep(_PAUSE_SECONDS)
        return True


def _is_loopback(url: str) -> bool:
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
