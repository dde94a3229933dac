"""Builds a running trial from a model definition, in this process."""

from __future__ import annotations

import importlib
import os
import pathlib
import random
import sys
from collections.abc import Mapping
from typing import Any

from determined._definition import _entrypoint, _native
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._train_context import TrialContext
from determined._trial import Trial, TrialController
from determined.common import check
from determined.errors import InvalidConfigurationException


def enter(directory: str) -> str:
    """Makes a model definition the working directory and the first entry of the import path."""
    path = os.path.abspath(directory)
    os.chdir(path)
    sys.path[:] = [path, *(entry for entry in sys.path if entry not in ("", path))]
    return path


def threads(environment: Mapping[str, str]) -> int:
    """The number of threads of this slot: that of the agent, or else all processors of the process."""
    text = environment.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(text) if text.isdigit() and int(text) > 0 else len(os.sched_getaffinity(0))


def load(env: EnvContext, source: SourceSnapshot, distributed: DistributedContext | None = None) -> type[Trial]:
    """Imports the trial class of a model definition, with seeded generators.

    So the random numbers that its modules draw while they are imported are the same in every process.
    """
    check_entrypoint(env.experiment_config)
    entrypoint = env.experiment_config.get("entrypoint")
    command = _native.command_of(env.experiment_config)
    random.seed(env.trial_seed)
    if (numpy := _imported("numpy", source)) is not None:
        numpy.random.seed(env.trial_seed % 2**32)
    if (torch := _imported("torch", source)) is not None:
        torch.default_generator.manual_seed(env.trial_seed)
    if source.mentions("tensorflow"):
        _prepare_tensorflow(env, source)
    if command is not None:
        return _native.load(command, source.root, env, distributed)
    return _entrypoint.load_trial_class(entrypoint, source.root)


def check_entrypoint(config: Mapping[str, Any]) -> None:
    """Raises if a configuration names a command to run instead of a trial class."""
    entrypoint = config.get("entrypoint")
    if _native.command_of(config) is None and not _entrypoint.is_trial_entrypoint(entrypoint):
        raise InvalidConfigurationException(
            entrypoint, f"entrypoint is {entrypoint!r}; it must be module:Name, such as model_def:MyTrial"
        )


def _prepare_tensorflow(env: EnvContext, source: SourceSnapshot) -> None:
    """Prepares this process for the TensorFlow that the model definition is written for."""
    from determined._tensorflow import _era

    _era.prepare(env.experiment_config, pathlib.Path(source.root), quiet=env.rank > 0)


def _imported(name: str, source: SourceSnapshot) -> Any:
    """A module that the model definition is going to import, imported already; None where it never speaks of it."""
    if name in sys.modules or source.mentions(name):
        try:
            return importlib.import_module(name)
        except ImportError:
            return None
    return None


def controller_class(trial_class: type[Trial]) -> type[TrialController]:
    found = trial_class.trial_controller_class
    if found is None:
        check.fail(
            f"{trial_class.__name__}, which has no trial_controller_class",
            "a subclass of a framework's trial, such as determined.pytorch.PyTorchTrial",
        )
        raise AssertionError
    return found


def build(
    trial_class: type[Trial],
    env: EnvContext,
    *,
    source: SourceSnapshot | None,
    distributed: DistributedContext | None = None,
) -> tuple[TrialContext, TrialController]:
    """Seeds, then builds context, trial and controller, in this order: initial weights follow from the seed alone."""
    kind = controller_class(trial_class)
    if missing := sorted(getattr(trial_class, "__abstractmethods__", ())):
        family = next(one.__name__ for one in trial_class.__mro__ if one.__module__.startswith("determined."))
        check.fail(
            f"{trial_class.__name__} without {', '.join(f'{name}()' for name in missing)}",
            f"all methods that a {family} must have",
        )
    kind.prepare_process(env, threads(os.environ))
    context = trial_class.trial_context_class(env, distributed)
    trial: Any = trial_class(context)
    return context, kind(trial, context, source)
