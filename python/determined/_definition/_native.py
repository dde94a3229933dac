"""Scripts that pass their trial class to ``experimental.create``; the cluster runs them again, up to that call."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._trial import Trial
from determined.errors import InvalidExperimentException, StopLoadingImplementation


@dataclasses.dataclass
class Surroundings:
    """What a script finds while it is run only for its trial class."""

    found: list[type[Trial]]
    env: EnvContext | None
    distributed: DistributedContext | None


_recording: Surroundings | None = None


def surroundings() -> Surroundings | None:
    """Returns the trial of this process while a script is run for its class; None if a user runs it."""
    return _recording


def recording() -> bool:
    """Whether a script is being run only for its trial class."""
    return _recording is not None


def record(trial_class: type[Trial]) -> None:
    """Records the class and ends the script."""
    assert _recording is not None
    _recording.found.append(trial_class)
    raise StopLoadingImplementation


@contextlib.contextmanager
def recorded(
    env: EnvContext | None = None, distributed: DistributedContext | None = None
) -> Iterator[list[type[Trial]]]:
    """A context manager that records the class that a script passes on inside; the script ends there."""
    global _recording
    before, _recording = _recording, Surroundings([], env, distributed)
    found = _recording.found
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


def load(
    command: Sequence[str],
    directory: str,
    env: EnvContext | None = None,
    distributed: DistributedContext | None = None,
) -> type[Trial]:
    """Runs a script of the model definition as ``__main__`` until it passes on its trial class.

    Raises:
        InvalidExperimentException: the script does not exist, or it passes on no class.
    """
    script = pathlib.Path(directory) / command[0]
    if not script.is_file():
        raise InvalidExperimentException(f"the script {command[0]} is not in the model definition; name one that is")
    arguments = sys.argv
    sys.argv = list(command)
    try:
        with recorded(env, distributed) as found:
            runpy.run_path(os.fspath(script), run_name="__main__")
    finally:
        sys.argv = arguments
    if not found:
        raise InvalidExperimentException(
            f"the script {command[0]} ended without calling experimental.create(), train_and_evaluate() or fit()"
        )
    trial_class = found[0]
    if trial_class.__module__ == "__main__":
        trial_class.__module__ = script.stem  # where others find it
    return trial_class
