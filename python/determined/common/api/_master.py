"""The address of the master."""

from __future__ import annotations

import os
import urllib.parse

VARIABLES = ("DET_MASTER", "DET_MASTER_ADDR", "DETERMINED_MASTER")


def master_url(master: str | None = None) -> str:
    """Returns the master's address as ``http://host:port``.

    It is the argument, or the first of ``DET_MASTER``, ``DET_MASTER_ADDR`` and ``DETERMINED_MASTER`` that is set, or
    ``localhost:8080``. The default port is 8080 without a scheme, 80 for http, and 443 for https.

    Raises:
        ValueError: the address is invalid.
    """
    text = master or next((os.environ[name] for name in VARIABLES if os.environ.get(name)), "localhost:8080")
    has_scheme = "://" in text
    parts = urllib.parse.urlsplit(text.strip() if has_scheme else "http://" + text.strip())
    try:
        port = parts.port
    except ValueError:
        raise _wrong(text, "its port must be from 1 to 65535") from None
    if parts.scheme not in ("http", "https"):
        raise _wrong(text, "it must begin with http:// or https://, or consist of host and port")
    if not parts.hostname:
        raise _wrong(text, "it has no host")
    if parts.username is not None:
        raise _wrong(text, "it must not contain a user name or password")
    if parts.query or parts.fragment:
        raise _wrong(text, "it must not contain a query or fragment")
    if port is None:
        port = 8080 if not has_scheme else {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"


def _wrong(text: str, rule: str) -> ValueError:
    return ValueError(f"invalid master URL {text!r}; {rule}")
