"""Checks of values from user code. Each raises :class:`CheckFailedError` with what it got and what it expected."""

from __future__ import annotations

from collections.abc import Container, Sized
from typing import Any


class CheckFailedError(Exception):
    """User code broke a rule of the API. The message says which one, and what was found instead."""


def fail(found: str, expected: str, reason: str | None = None) -> None:
    """Raises an error with one sentence: what was found, what was expected, and why."""
    ending = f": {reason}" if reason else ""
    raise CheckFailedError(f"CHECK FAILED! Got {found}, expected {expected}{ending}")


def _kind(value: object) -> str:
    return f"{value!r} (type {type(value).__name__})"


def true(value: bool, reason: str | None = None) -> None:
    if not value:
        fail("False", "True", reason)


def false(value: bool, reason: str | None = None) -> None:
    if value:
        fail("True", "False", reason)


def eq(got: object, expected: object, reason: str | None = None) -> None:
    if got != expected:
        fail(_kind(got), _kind(expected), reason)


def not_eq(got: object, unwanted: object, reason: str | None = None) -> None:
    if got == unwanted:
        fail(_kind(got), f"anything else than {unwanted!r}", reason)


def is_none(got: object, reason: str | None = None) -> None:
    if got is not None:
        fail(_kind(got), "None", reason)


def is_not_none(got: object, reason: str | None = None) -> None:
    if got is None:
        fail("None", "a value", reason)


not_none = is_not_none


def is_instance(got: object, kind: type | tuple[type, ...], reason: str | None = None) -> None:
    if not isinstance(got, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        fail(f"a {type(got).__name__}", " or ".join(f"a {k.__name__}" for k in kinds), reason)


def is_in(got: object, allowed: Container[Any], reason: str | None = None) -> None:
    if got not in allowed:
        fail(_kind(got), f"one of {allowed!r}", reason)


def not_in(got: object, unwanted: Container[Any], reason: str | None = None) -> None:
    if got in unwanted:
        fail(_kind(got), f"none of {unwanted!r}", reason)


def len_eq(got: Sized, expected: int, reason: str | None = None) -> None:
    if len(got) != expected:
        fail(f"{len(got)} elements", f"{expected}", reason)


def equal_lengths(left: Sized, right: Sized, reason: str | None = None) -> None:
    if len(left) != len(right):
        fail(f"{len(left)} and {len(right)} elements", "equal lengths", reason)


def gt(got: Any, bound: Any, reason: str | None = None) -> None:
    if not got > bound:
        fail(_kind(got), f"more than {bound!r}", reason)


def gt_eq(got: Any, bound: Any, reason: str | None = None) -> None:
    if not got >= bound:
        fail(_kind(got), f"at least {bound!r}", reason)


def lt(got: Any, bound: Any, reason: str | None = None) -> None:
    if not got < bound:
        fail(_kind(got), f"less than {bound!r}", reason)


def lt_eq(got: Any, bound: Any, reason: str | None = None) -> None:
    if not got <= bound:
        fail(_kind(got), f"at most {bound!r}", reason)


check_true = true
check_false = false
check_eq = eq
check_not_eq = not_eq
check_none = is_none
check_not_none = is_not_none
check_isinstance = is_instance
check_in = is_in
check_not_in = not_in
check_len = len_eq
check_eq_len = equal_lengths
check_gt = gt
check_gt_eq = gt_eq
check_lt = lt
check_lt_eq = lt_eq
