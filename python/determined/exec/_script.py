"""Trials that are scripts: the entry point is a command, and the script uses the Core API."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

from determined._definition import _entrypoint
from determined.exec import _warm_script


def _entrypoint_of(environment: Mapping[str, str]) -> Any:
    try:
        return json.loads(environment.get("DET_EXPERIMENT_CONFIG", "")).get("entrypoint")
    except (ValueError, AttributeError):
        return None  # told where the rest of the configuration is read


def command_of(environment: Mapping[str, str]) -> list[str] | None:
    """Returns the command of the experiment configuration; None if it names a trial class."""
    entrypoint = _entrypoint_of(environment)
    if _entrypoint.is_trial_entrypoint(entrypoint):
        return None
    if isinstance(entrypoint, list):
        return [str(word) for word in entrypoint]
    return ["/bin/sh", "-c", str(entrypoint)]


def run(
    command: list[str],
    environment: MutableMapping[str, str],
    worker: Mapping[str, str] | None,
    programs: str | None = None,
) -> int:
    """Replaces this process with the command, in the model definition's directory; returns only on failure.

    In a fork of a warm worker, which was started with the environment ``worker``, a Python script runs in this process.

    The command runs once on each machine, for any number of slots; a script that needs one process per slot starts them
    itself, for example with ``torchrun``. ``python`` and ``python3`` are those in the directory
    ``programs``, by default the interpreter of the trial.
    """
    if environment.get("DET_LOCAL_RANK", "0") != "0":
        return 0
    directory = environment.get("DET_WORKDIR") or os.getcwd()
    os.chdir(directory)
    own = programs or os.path.dirname(sys.executable)
    environment["PATH"] = f"{own}:{environment.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"
    script = _warm_script.words_of(_entrypoint_of(environment)) if worker is not None else None
    if script and os.path.isfile(script[0]) and _warm_script.started_alike(environment, worker or {}):
        return _warm_script.run(script)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"entrypoint {command}: {command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 127
