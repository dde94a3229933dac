"""What all messages and enumerations of the generated client share."""

from __future__ import annotations

import functools
import math
import sys
import typing
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from determined._compat import StrEnum, dataclass_transform
from determined.common.api import errors

if TYPE_CHECKING:
    from typing import Self

Json = dict[str, Any]
Convert = Callable[[Any], Any]


class Enumeration(StrEnum):
    """A member is its text on the wire. A text that this version does not know becomes a member of its own."""

    @classmethod
    def _missing_(cls, value: object) -> Enumeration | None:
        if not isinstance(value, str):
            return None
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = value
        return unknown

    def __reduce_ex__(self, _: object) -> tuple[type[Self], tuple[str]]:  # a copy of an unknown text is found by it
        return type(self), (self.value,)


class _Member(typing.NamedTuple):
    name: str
    required: bool
    read: Convert | None  # None: as it is


@dataclass_transform(kw_only_default=True)
class Message:
    """A JSON object of the API with typed members, all given by keyword.

    A member with the default None may be missing. Members that were never given are not sent to the master, while a
    None that was given is sent as null. Members that this version does not know are dropped.
    """

    _of_class: ClassVar[tuple[_Member, ...] | None] = None

    def __init__(self, **members: Any) -> None:
        known = self._members()
        for member in known:
            if member.required and member.name not in members:
                raise TypeError(f"{type(self).__name__} needs {member.name}")
        if unknown := members.keys() - {member.name for member in known}:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        vars(self).update(members)

    @classmethod
    def from_json(cls, obj: Json) -> Self:
        """The message of a JSON object.

        Raises:
            BadResponseException: a member that is always there is missing.
        """
        message = cls.__new__(cls)
        values = vars(message)
        for name, required, read in cls._members():
            value = obj.get(name)
            if value is not None:
                values[name] = read(value) if read else value
            elif required and name not in obj:
                raise errors.BadResponseException(f"{cls.__name__} of the master has no {name}")
            elif name in obj:
                values[name] = None
        return message

    def to_json(self, omit_unset: bool = False) -> Json:
        """The JSON object; with `omit_unset` without the members that were never given."""
        values = vars(self)
        return {
            name: _written(values.get(name), omit_unset)
            for name, *_ in self._members()
            if name in values or not omit_unset
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # members may change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    @classmethod
    def _members(cls) -> tuple[_Member, ...]:
        """Read from the annotations at the first use, which keeps the import fast."""
        if cls._of_class is None:
            names = vars(sys.modules[cls.__module__])
            hints = {name: text for name, text in cls.__annotations__.items() if not name.startswith("_")}
            cls._of_class = tuple(
                # Python 3.9 cannot evaluate "| None".
                _Member(name, not hasattr(cls, name), _reader(eval(text.replace(" | None", ""), names)))
                for name, text in hints.items()
            )
        return cls._of_class


def _reader(hint: Any) -> Convert | None:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (list, dict):
        item = _reader(inner[-1])
        return item and functools.partial(_read_list if origin is list else _read_dict, item)
    if isinstance(hint, type) and issubclass(hint, Message):
        return hint.from_json
    if hint in (int, float) or (isinstance(hint, type) and issubclass(hint, Enumeration)):
        return typing.cast(Convert, hint)  # 64-bit integers and NaN are strings on the wire
    return None


def _read_list(item: Convert, values: list[Any]) -> list[Any]:
    return [item(value) for value in values]


def _read_dict(item: Convert, values: Json) -> Json:
    return {key: item(value) for key, value in values.items()}


def _written(value: Any, omit_unset: bool) -> Any:
    if isinstance(value, Message):
        return value.to_json(omit_unset)
    if isinstance(value, Enumeration):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _written(item, omit_unset) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_written(item, omit_unset) for item in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def quoted(text: str) -> str:
    """One segment of a path."""
    return urllib.parse.quote(text, safe="")
