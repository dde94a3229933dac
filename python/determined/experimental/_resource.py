"""What experiments, trials, checkpoints, models and users have in common: fields that were read from the master."""

from __future__ import annotations

import abc
import datetime
import enum
import json
import math
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from determined import _arguments, _metrics


class Resource(abc.ABC):
    """Something that the master has. Its attributes are as of the last :meth:`reload`.

    What a list or a call has given is read already; what was made from an id reads itself when an attribute is first
    asked for, and raises NotFoundException then where there is no such thing.
    """

    _is_read = False

    @abc.abstractmethod
    def reload(self) -> None:
        """Reads all attributes again."""

    @abc.abstractmethod
    def _read(self, answer: Mapping[str, Any]) -> None:
        """Sets the attributes."""

    def _take(self, answer: Mapping[str, Any]) -> Self:
        """The same object, with what a list or a call has given of it."""
        self._read(answer)
        self._is_read = True
        return self

    if not TYPE_CHECKING:  # it would know every name

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or self._is_read:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.reload()
            return getattr(self, name)


class State(enum.Enum):
    """What an experiment or a trial is doing. QUEUED, PULLING, STARTING and RUNNING are all active."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    DELETED = "STATE_DELETED"

    @property
    def terminal(self) -> bool:
        """Whether it is over and will not change any more."""
        return self in (State.COMPLETED, State.CANCELED, State.ERROR, State.DELETED, State.DELETE_FAILED)


def state_of(name: str) -> State:
    try:
        return State(name)
    except ValueError:
        return State.UNSPECIFIED


def path_of(kind: str, name: str | int) -> str:
    """Where the API has the thing of that name or id, whatever characters are in it."""
    return f"/api/v1/{kind}/{urllib.parse.quote(str(name), safe='')}"


def time_of(text: str | None) -> datetime.datetime | None:
    """A time of the API, with its time zone."""
    return datetime.datetime.fromisoformat(text) if text else None


def number(value: Any) -> float | None:
    """A metric's value as a number; JSON spells those that are not finite as text."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def comparable(value: Any) -> float | None:
    """As :func:`number`, without NaN, which compares with nothing."""
    found = number(value)
    return None if found is None or math.isnan(found) else found


def numbers(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metrics with NaN and infinities as numbers, at every depth."""
    return {name: _spelled_out(value) for name, value in (values or {}).items()}


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return _SPELLED.get(value, value)
    if isinstance(value, Mapping):
        return numbers(value)
    return [_spelled_out(one) for one in value] if isinstance(value, list) else value


_SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def id_of(value: Any, name: str) -> int:
    """A number by which the master knows something; digits in text are one, too.

    Raises:
        ValueError: it is none.
    """
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return _arguments.whole(number, name, "must be the number that the master assigned")


def joined(old: Mapping[str, Any], new: Any) -> dict[str, Any]:
    """Metadata with further entries, which may be anything that has a JSON form.

    Raises:
        TypeError: they are no dict, or a value has no JSON form.
    """
    if not isinstance(new, Mapping):
        raise TypeError(f"metadata is {new!r}; it must be a dict")
    return {**old, **json.loads(_metrics.to_json(dict(new), "metadata"))}
