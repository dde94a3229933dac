"""The address of the master."""

from __future__ import annotations

import contextlib
import os
import urllib.parse

_groups: list[list[str]] = []

VARIABLES = ("DET_MASTER", "DET_MASTER_ADDR", "DETERMINED_MASTER")


def master_url(master: str | None = None) -> str:
    """Returns the master's address as ``http://host:port``; of several, the first. See :func:`master_urls`."""
    return master_urls(master)[0]


def master_urls(master: str | None = None) -> list[str]:
    """Returns the addresses of the masters of a cluster as ``http://host:port``: mostly one.

    It is the argument, or the first of ``DET_MASTER``, ``DET_MASTER_ADDR`` and ``DETERMINED_MASTER`` that is set, or
    ``localhost:8080``. Several masters that share a database are separated by commas. One of them also stands for
    all: of those in ``DET_MASTERS``, which tasks have, and of those that this process was given before. The default
    port is 8080 without a scheme, 80 for http, and 443 for https.

    Raises:
        ValueError: the address is invalid.
    """
    text = master or next((os.environ[name] for name in VARIABLES if os.environ.get(name)), "localhost:8080")
    urls = _parsed_all(text)
    if len(urls) > 1:
        if urls not in _groups:
            _groups.append(urls)
        return urls
    for group in (*_groups_of_environment(), *_groups):
        if urls[0] in group:
            return urls + [url for url in group if url != urls[0]]
    return urls


def _groups_of_environment() -> list[list[str]]:
    lists = [text for name in ("DET_MASTERS", "DET_MASTER") if "," in (text := os.environ.get(name, ""))]
    with contextlib.suppress(ValueError):
        return [_parsed_all(text) for text in lists]
    return []


def _parsed_all(text: str) -> list[str]:
    parts = [part for part in text.split(",") if part.strip()] or [text]
    return list(dict.fromkeys(_parsed(part) for part in parts))


def _parsed(text: str) -> str:
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
