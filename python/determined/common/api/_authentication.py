"""Stored logins: the file ``auth.json``, which the command line uses, too."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

_SALT = "GubPEmmotfiK9TMD6Zdw"


def password_hash(password: str) -> str:
    """Returns the hash that is sent instead of a password; empty for an empty password."""
    return hashlib.sha512((_SALT + password).encode()).hexdigest() if password else ""


def config_directory() -> pathlib.Path:
    """Returns ``$XDG_CONFIG_HOME/determined``, by default ``~/.config/determined``."""
    home = os.environ.get("XDG_CONFIG_HOME")
    base = pathlib.Path(home) if home else pathlib.Path(os.environ.get("HOME") or "/") / ".config"
    return base / "determined"


class TokenCache:
    """The tokens of one master's users.

    ``{"version": 2, "masters": {"http://host:8080": {"active_user": "x", "tokens": {"x": "…"}}}}``, readable by its
    owner only. A file in any other format is treated as empty; the command line repairs it.
    """

    def __init__(self, master: str, directory: pathlib.Path | None = None) -> None:
        self._master = master
        self._directory = directory or config_directory()

    def active_user(self) -> str | None:
        user = self._entry().get("active_user")
        return user if isinstance(user, str) and user else None

    def token(self, user: str) -> str | None:
        tokens = self._entry().get("tokens")
        found = tokens.get(user) if isinstance(tokens, dict) else None
        return found if isinstance(found, str) else None

    def remember(self, user: str, token: str, *, activate: bool = False) -> None:
        """Stores a token. With ``activate``, its user becomes the active user.

        Raises:
            OSError: the file cannot be written.
        """
        with self._changing() as entry:
            entry.setdefault("tokens", {})[user] = token
            if activate:
                entry["active_user"] = user

    def forget(self, user: str) -> None:
        with self._changing() as entry:
            entry.get("tokens", {}).pop(user, None)
            if entry.get("active_user") == user:
                entry["active_user"] = None

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads((self._directory / "auth.json").read_text())
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}

    def _entry(self) -> dict[str, Any]:
        document = self._read()
        # Files of early releases have only one master.
        entry = document.get("masters", {}).get(self._master, {}) if "masters" in document else document
        return entry if isinstance(entry, dict) else {}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """Yields the entry to change, under the lock that the command line also uses, and writes the file."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = self._read()
            if "masters" not in document:
                document = {"version": 2, "masters": {self._master: document} if document else {}}
            entry = document["masters"].setdefault(self._master, {})
            entry.setdefault("active_user", None)
            entry.setdefault("tokens", {})
            yield entry
            handle, name = tempfile.mkstemp(dir=self._directory, prefix="auth-")  # mode 600
            with os.fdopen(handle, "w") as file:
                json.dump(document, file, indent=2)
            os.replace(name, self._directory / "auth.json")
        finally:
            os.close(lock)
