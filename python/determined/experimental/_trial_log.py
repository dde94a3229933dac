"""The log of a trial."""

from __future__ import annotations

import datetime
import enum
import time
from collections.abc import Iterator, Mapping
from typing import Any

from determined.common.api import Session
from determined.common.api.errors import MasterNotFoundException

_OUTAGE_SECONDS = 60.0


class LogLevel(enum.Enum):
    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"

    @property
    def and_above(self) -> list[str]:
        """This level and the more severe ones, in the API's spelling."""
        levels = list(LogLevel)
        return [level.value for level in levels[levels.index(self) :]]


def moment(name: str, value: int | str | datetime.datetime | None) -> str | None:
    """Converts a time to the API's format: a number is in seconds since 1970; a string is already RFC 3339.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            found = datetime.datetime.fromisoformat(value)
        elif isinstance(value, datetime.datetime):
            found = value
        else:
            found = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
        return found.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (TypeError, OverflowError, ValueError):
        raise ValueError(
            f"{name} is {value!r}; it must be seconds since 1970, or a time such as '2026-05-14T09:30:00Z'"
        ) from None


def stored(session: Session, path: str, params: Mapping[str, Any], timeout: float = 120.0) -> Iterator[str]:
    """Iterates over the stored lines; with the parameter ``follow``, follows until the trial has ended."""
    for line in session.stream(path, params, timeout):
        yield line["message"]


def followed(session: Session, path: str, params: Mapping[str, Any]) -> Iterator[str]:
    """Follows the log across silent trials, broken connections and restarts of the master, without losing or repeating
    a line.
    """
    seen, failed_since = 0, 0.0
    while True:
        try:
            for number, line in enumerate(stored(session, path, params, 600.0)):
                failed_since = 0.0
                if number >= seen:
                    seen += 1
                    yield line
            return
        except MasterNotFoundException:
            now = time.monotonic()
            failed_since = failed_since or now
            if now - failed_since > _OUTAGE_SECONDS:
                raise
            time.sleep(0.5)
