"""Explains errors by the user's code, without the platform's frames."""

from __future__ import annotations

import os
import sys
import traceback
from types import TracebackType

from determined.common.check import CheckFailedError
from determined.errors import InvalidExperimentException

_PACKAGES = {"torch": "torch", "torchvision": "torchvision", "numpy": "numpy", "tensorflow": "tensorflow-cpu==2.15.1"}
"""What model definitions need beside this package, and how pip calls it."""

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def explain(error: BaseException) -> str:
    """Returns the error as text for the trial's log, without the platform's frames. A broken rule comes first."""
    if isinstance(error, SystemExit):
        error = InvalidExperimentException(
            f"the model definition called sys.exit({error.code!r}); remove it: the platform ends the process"
        ).with_traceback(error.__traceback__)
    if isinstance(error, (CheckFailedError, InvalidExperimentException)):
        where = _frames(error.__traceback__)
        text = str(error)
        return f"{text}\n\nin\n{where}" if where else text
    if isinstance(error, ModuleNotFoundError) and error.name in _PACKAGES:
        text = (
            f"{sys.executable} has no package {error.name}; install it there: "
            f"{sys.executable} -m pip install {_PACKAGES[error.name]}"
        )
        where = _frames(error.__traceback__)
        return f"{text}\n\nin\n{where}" if where else text
    lines = traceback.format_exception(type(error), error, without_ours(error.__traceback__))
    return "".join(lines).rstrip()


def _is_ours(tb: TracebackType) -> bool:
    name = tb.tb_frame.f_code.co_filename
    return os.path.abspath(name).startswith(_OURS) or name.startswith("<frozen")


def _frames(tb: TracebackType | None) -> str:
    theirs = without_ours(tb)
    if theirs is None or _is_ours(theirs):
        return ""
    return "".join(traceback.format_tb(theirs)).rstrip()


def without_ours(tb: TracebackType | None) -> TracebackType | None:
    """Returns a traceback without the platform's frames; all of it if there are no others."""
    frames = []
    at = tb
    while at is not None:
        if not _is_ours(at):
            frames.append(at)
        at = at.tb_next
    if not frames:
        return tb
    rest: TracebackType | None = None
    for frame in reversed(frames):
        rest = TracebackType(rest, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return rest


def report(error: BaseException) -> None:
    sys.stdout.flush()
    print(explain(error), file=sys.stderr, flush=True)
