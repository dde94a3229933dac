"""What experiments, trials, checkpoints, models and users have in common: fields that are read from the master."""

from __future__ import annotations

import abc
import datetime
import enum
import json
import math
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from determined import _arguments, _metrics

if TYPE_CHECKING:
    from typing import Self


class Resource(abc.ABC):
    """An object of the master. Its attributes are as of the last :meth:`reload`.

    An object from a list or another call already has its attributes. One created from an id is read when an attribute
    is first used, which raises NotFoundException if it does not exist.
    """

    _is_read = False

    @abc.abstractmethod
    def reload(self) -> None:
        """Reads all attributes again."""

    @abc.abstractmethod
    def _read(self, answer: Mapping[str, Any]) -> None:
        """Sets the attributes."""

    def _take(self, answer: Mapping[str, Any]) -> Self:
        """Returns the object itself, with the attributes that a list or a call returned."""
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
    """The state of an experiment or a trial. QUEUED, PULLING, STARTING and RUNNING are all active."""

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
        """Whether it has ended and will not change any more."""
        return self in (State.COMPLETED, State.CANCELED, State.ERROR, State.DELETED, State.DELETE_FAILED)


def state_of(name: str) -> State:
    try:
        return State(name)
    except ValueError:
        return State.UNSPECIFIED


def path_of(kind: str, name: str | int) -> str:
    """The path of an object in the API by its name or id, with special characters escaped."""
    return f"/api/v1/{kind}/{urllib.parse.quote(str(name), safe='')}"


def time_of(text: str | None) -> datetime.datetime | None:
    """Parses a time of the API, which has a time zone."""
    return datetime.datetime.fromisoformat(text) if text else None


def number(value: Any) -> float | None:
    """Returns a metric's value as a number; JSON spells infinities and NaN as strings."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def comparable(value: Any) -> float | None:
    """Like :func:`number`, but None for NaN, which cannot be compared."""
    found = number(value)
    return None if found is None or math.isnan(found) else found


def numbers(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metrics with NaN and infinities as numbers, also within nested values."""
    return {name: _spelled_out(value) for name, value in (values or {}).items()}


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return _SPELLED.get(value, value)
    if isinstance(value, Mapping):
        return numbers(value)
    return [_spelled_out(one) for one in value] if isinstance(value, list) else value


_SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def id_of(value: Any, name: str) -> int:
    """Returns an id of the master as a number; a string of digits is accepted, too.

    Raises:
        ValueError: it is not an id.
    """
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    return _arguments.whole(number, name, "must be the number that the master assigned")


def joined(old: Mapping[str, Any], new: Any) -> dict[str, Any]:
    """Returns the metadata with additional entries, which may be any values that JSON can represent.

    Raises:
        TypeError: they are not a dict, or JSON cannot represent a value.
    """
    if not isinstance(new, Mapping):
        raise TypeError(f"metadata is {new!r}; it must be a dict")
    return {**old, **json.loads(_metrics.to_json(dict(new), "metadata"))}
