"""Calls of a user to a master."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import json
import logging
import os
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from determined.common.api import errors
from determined.common.api._authentication import TokenCache, password_hash
from determined.common.api._leader import LEADER_HEADER, Masters, Search
from determined.common.api._master import master_urls
from determined.common.api._tls import advice, trust_of

logger = logging.getLogger("determined")

Parameters = Mapping[str, Any]
"""Query parameters: None is left out, a sequence is repeated."""

_RETRY_DELAYS = (0.1, 0.2, 0.4, 0.8)
_TRY_LATER = (502, 503, 504)
_TIMEOUT = 600.0  # long enough to upload a whole model definition
_DEFAULT_USER = "determined"
_OPEN_USERS = (_DEFAULT_USER, "admin")  # they have no passwords on a new master


class Session:
    """Calls of one user to one master, with the HTTP client of the standard library.

    Calls authenticate, in this order, as the given user and password; with ``DET_USER_TOKEN``; in a task of the
    platform, as the task; as ``DET_USER`` with ``DET_PASS``; as ``DET_USER``, or the user who logged in on the command
    line, with the stored token; as ``determined``. If the master does not accept a stored token, the session logs in
    again, and prompts for the password if there is a terminal. Calls that are answered with 502 to 504 are retried for
    a few seconds. ``master`` may have the addresses of several masters that share a database: calls go to the one that
    leads.

    Proxies are not used. Each call opens its own connection, so calls may be made from any thread.
    """

    def __init__(
        self,
        master: str | None = None,
        user: str | None = None,
        password: str | None = None,
        *,
        cert_path: str | None = None,
        cert_name: str | None = None,
        noverify: bool = False,
    ) -> None:
        urls = master_urls(master)
        self._user = user
        self._password = password
        self._token: str | None = None
        self._over = False
        self._cached = False
        self.trust = trust_of(max(urls, key=lambda url: url.startswith("https:")), cert_path, cert_name, noverify)
        """How to verify the master's certificate; None for an http address."""
        self._masters = Masters(urls, self.trust)
        self._cache = TokenCache(urls[0])  # tokens of one are good for all

    @property
    def master(self) -> str:
        """The address of the master; of several, the one that gave the last answer."""
        return self._masters.url

    @property
    def user(self) -> str:
        """The name of the user of this session."""
        return self._user or os.environ.get("DET_USER") or self._cache.active_user() or _DEFAULT_USER

    @property
    def has_task_token(self) -> bool:
        """Whether calls authenticate as a task of the platform, not as a user."""
        given = self._user is not None or self._password is not None or os.environ.get("DET_USER_TOKEN")
        return not given and bool(os.environ.get("DET_SESSION_TOKEN"))

    def get(self, path: str, params: Parameters | None = None) -> Any:
        return self._json("GET", path, params)

    def post(self, path: str, body: Any = None) -> Any:
        return self._json("POST", path, None, {} if body is None else body)

    def put(self, path: str, body: Any = None) -> Any:
        return self._json("PUT", path, None, {} if body is None else body)

    def patch(self, path: str, body: Any) -> Any:
        return self._json("PATCH", path, None, body)

    def delete(self, path: str, params: Parameters | None = None, body: Any = None) -> Any:
        return self._json("DELETE", path, params, body)

    def pages(self, path: str, member: str, params: Parameters | None = None, limit: int = 500) -> Iterator[Any]:
        """Iterates over the items of a list, which are requested in pages."""
        offset = 0
        while True:
            page = self.get(path, {**(params or {}), "limit": limit, "offset": offset})
            items = page.get(member) or []
            yield from items
            offset += len(items)
            if not items or offset >= int((page.get("pagination") or {}).get("total") or 0):
                return

    def stream(self, path: str, params: Parameters | None = None, timeout: float = 120.0) -> Iterator[Any]:
        """Iterates over the results of a streaming call as they arrive.

        Raises:
            APIException: the master ended the stream with an error.
            MasterNotFoundException: the connection broke, or nothing came for ``timeout`` seconds.
        """
        connection, response = self._authorized("GET", _with_query(path, params), None, timeout)
        try:
            for line in self._lines(response):
                if not line.strip():
                    continue
                item = json.loads(line)
                if item.get("error"):
                    error = item["error"]
                    raise errors.from_status(int(error.get("httpCode") or 500), str(error.get("message") or error))
                yield item.get("result")
        finally:
            connection.close()

    def _lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        rest = b""
        while True:
            with self._whole():
                block = response.read1(1 << 16)  # unlike readline(), it distinguishes the end from a broken connection
            if not block:
                break
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
        yield rest

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Raises an error if the connection breaks while a response is read."""
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            raise errors.MasterNotFoundException(f"the connection to {self.master} broke: {error}") from error

    def download(self, path: str, file: BinaryIO) -> None:
        """Writes the body of a response to a file."""
        connection, response = self._authorized("GET", path, None, _TIMEOUT)
        try:
            while True:
                with self._whole():
                    block = response.read(1 << 20)
                if not block:
                    return
                file.write(block)
        finally:
            connection.close()

    def login(self) -> str:
        """Gets a token that the master accepts, if there is none yet. Returns the name of its user.

        Raises:
            UnauthenticatedException: no user is logged in, or the password is wrong.
            MasterNotFoundException: the master does not respond.
        """
        return str(self.get("/api/v1/me")["user"]["username"])

    def token(self) -> str:
        """Returns the token of the logged-in user. Raises the same exceptions as :meth:`login`."""
        self.login()
        assert self._token is not None
        return self._token

    def logout(self) -> None:
        """Ends the session on the master, and deletes its token."""
        if self._token is not None:
            self.post("/api/v1/auth/logout")
            user = self.user
            if self._cache.token(user) == self._token:
                self._cache.forget(user)
            self._token = None
        self._over = True

    def _json(self, method: str, path: str, params: Parameters | None, body: Any = None) -> Any:
        connection, response = self._authorized(method, _with_query(path, params), body, _TIMEOUT)
        try:
            with self._whole():
                text = response.read()
        finally:
            connection.close()
        if not text.strip():
            return {}
        try:
            return json.loads(text)
        except ValueError:
            raise errors.BadResponseException(
                f"the server at {self.master} is not a Determined master: its response to {path} is not JSON"
            ) from None

    def _authorized(
        self, method: str, path: str, body: Any, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request, logging in if necessary. Returns a successful response, before its body is read."""
        if self._token is None:
            self._token = self._obtain_token()
        connection, response = self._exchange(method, path, body, self._token, timeout)
        if response.status == 401 and self._cached:
            connection.close()
            self._token = self._fresh_token()
            connection, response = self._exchange(method, path, body, self._token, timeout)
        if response.status < 300:
            return connection, response
        text = _error_text(response)
        connection.close()
        if response.status == 401:
            text = f"{self.master}: {text}; log in with `det user login {self.user}` or client.login()"
        raise errors.from_status(response.status, text)

    def _exchange(
        self, method: str, path: str, body: Any, token: str | None, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        delays = iter((*_RETRY_DELAYS, None))
        search = Search(self._masters)
        while True:
            link, asked = None, self.master
            try:
                link = self._masters.open(timeout)
                link.request(method, urllib.parse.urlsplit(asked).path + path, body=data, headers=headers)
                self._masters.await_answer(link)
                response = link.getresponse()
            except (OSError, http.client.HTTPException) as error:
                if link is not None:
                    link.close()
                    self._masters.leave(asked)  # for the next call: this one may have been done
                elif search.goes_on():
                    continue
                raise errors.MasterNotFoundException(
                    f"no master answers at {asked} ({error}){advice(error)}; pass the right address as "
                    "master=… or in DET_MASTER, or start a master on this machine with `det up`"
                ) from error
            leader = response.headers.get(LEADER_HEADER)
            if response.status == 503 and leader is not None:
                if not search.goes_on(leader):
                    return link, response
            elif response.status not in _TRY_LATER or (delay := next(delays)) is None:
                return link, response
            else:
                time.sleep(delay)
            link.close()

    def _obtain_token(self) -> str:
        if self._over:
            raise errors.UnauthenticatedException("this session has logged out; create a new one to log in again")
        if self._password is not None:
            return self._log_in(self.user, self._password)
        if self._user is None:
            for name in ("DET_USER_TOKEN", "DET_SESSION_TOKEN"):
                if token := os.environ.get(name):
                    return token
            password = os.environ.get("DET_PASS")
            if password is not None and os.environ.get("DET_USER"):
                return self._log_in(self.user, password)
        token = self._cache.token(self.user)
        if token is not None:
            self._cached = True
            return token
        return self._fresh_token()

    def _fresh_token(self) -> str:
        self._cached = False
        user = self.user
        if user in _OPEN_USERS:
            try:
                return self._remember(user, self._log_in(user, ""))
            except errors.UnauthenticatedException:
                if not sys.stdin.isatty():
                    raise
        if not sys.stdin.isatty():
            raise errors.UnauthenticatedException(
                f"no user is logged in at {self.master}; use `det user login {user}`, client.login(user=…, "
                "password=…), or the variables DET_USER and DET_PASS",
                401,
            )
        return self._remember(user, self._log_in(user, getpass.getpass(f"Password for user '{user}': ")))

    def _remember(self, user: str, token: str) -> str:
        try:
            self._cache.remember(user, token)
        except OSError as error:
            logger.warning("the token of %s cannot be stored (%s), so every program has to log in again", user, error)
        return token

    def _log_in(self, user: str, password: str) -> str:
        body = {"username": user, "password": password_hash(password), "isHashed": True}
        connection, response = self._exchange("POST", "/api/v1/auth/login", body, None, _TIMEOUT)
        try:
            if response.status >= 300:
                text = f"cannot log in at {self.master} as {user!r}: {_error_text(response)}"
                if response.status in (401, 403):
                    raise errors.InvalidCredentialsException(text, 401)
                raise errors.from_status(response.status, text)
            return str(json.loads(response.read())["token"])
        finally:
            connection.close()


def _with_query(path: str, params: Parameters | None) -> str:
    items: list[tuple[str, str]] = []
    for name, value in (params or {}).items():
        for one in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
            if one is not None:
                items.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return f"{path}?{urllib.parse.urlencode(items)}" if items else path


def _error_text(response: http.client.HTTPResponse) -> str:
    """The text of an error response, in any of the master's formats."""
    text = response.read(1 << 20).decode(errors="replace")
    try:
        document = json.loads(text)
        error = document.get("error")
        found = document.get("message") or (error.get("message") or error.get("error") if error else None)
        return str(found or text)
    except (ValueError, AttributeError):
        return text.strip()[:1000] or f"{response.status} {response.reason}"
