"""Scripts that hand their trial class to ``experimental.create``: on the cluster they run again, up to that call."""

from __future__ import annotations

import contextlib
import os
import pathlib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from determined._trial import Trial
from determined.errors import InvalidExperimentException, StopLoadingImplementation

_recording: list[type[Trial]] | None = None


def recording() -> bool:
    """Whether a script is being run for its trial class alone."""
    return _recording is not None


def record(trial_class: type[Trial]) -> None:
    """Keeps the class, and ends the script."""
    assert _recording is not None
    _recording.append(trial_class)
    raise StopLoadingImplementation


@contextlib.contextmanager
def recorded() -> Iterator[list[type[Trial]]]:
    """The class that a script hands over inside; the script ends there."""
    global _recording
    before, _recording = _recording, []
    found = _recording
    try:
        yield found
    except StopLoadingImplementation:
        pass
    finally:
        _recording = before


def command_of(config: Mapping[str, Any]) -> list[str] | None:
    """``internal.native.command`` of an experiment configuration."""
    internal = config.get("internal")
    native = internal.get("native") if isinstance(internal, Mapping) else None
    command = native.get("command") if isinstance(native, Mapping) else None
    return [str(word) for word in command] if command else None


def load(command: Sequence[str], directory: str) -> type[Trial]:
    """Runs a script of the model definition as ``__main__`` until it hands over its trial class.

    Raises:
        InvalidExperimentException: there is no such script, or it hands over nothing.
    """
    script = pathlib.Path(directory) / command[0]
    if not script.is_file():
        raise InvalidExperimentException(f"the script {command[0]} is not in the model definition")
    arguments = sys.argv
    sys.argv = list(command)
    try:
        with recorded() as found:
            runpy.run_path(os.fspath(script), run_name="__main__")
    finally:
        sys.argv = arguments
    if not found:
        raise InvalidExperimentException(f"the script {command[0]} ended without a call of experimental.create()")
    trial_class = found[0]
    if trial_class.__module__ == "__main__":
        trial_class.__module__ = script.stem  # where others find it
    return trial_class
