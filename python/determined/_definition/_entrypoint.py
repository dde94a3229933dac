"""Finds the trial class that an experiment configuration names."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from determined._definition import _removed_names
from determined._trial import Trial
from determined.common import check

_FORM = re.compile(r"([A-Za-z0-9_.]*):([A-Za-z0-9_.]+)")
_PYTHON = re.compile(r"(\S*/)?python(3(\.\d+)?)?")


def class_in(entrypoint: object) -> str | None:
    """Returns the ``module:Name`` of an entrypoint; None if it is a command to run.

    ``python3 -m determined.launch.horovod --autohorovod --trial module:Name`` also names a class, because the platform
    itself starts a process for each slot.
    """
    if isinstance(entrypoint, str) and _FORM.fullmatch(entrypoint):
        return entrypoint
    words = entrypoint.split() if isinstance(entrypoint, str) else entrypoint
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    layered = words[1:3] == ["-m", "determined.launch.horovod"] and _PYTHON.fullmatch(words[0]) is not None
    return words[-1] if layered and words[-2] == "--trial" and _FORM.fullmatch(words[-1]) else None


def is_trial_entrypoint(entrypoint: object) -> bool:
    """Whether an entrypoint names a class rather than a command to run."""
    return entrypoint is None or class_in(entrypoint) is not None


def load_trial_class(entrypoint: str | list[str] | None, directory: str) -> type[Trial]:
    """Returns the class that ``module:Name`` names. ``directory`` is the model definition and must be on the import
    path.

    ``:Name`` and a missing entrypoint refer to the directory itself as a package with an ``__init__.py``; without a
    name, it must contain exactly one trial class. The aliases that NumPy removed (such as ``numpy.int``) exist again
    afterwards.

    Raises:
        CheckFailedError: the class does not exist or is not a trial class; the message lists what exists.
    """
    _removed_names.restore()
    if entrypoint is None:
        return _only_trial(import_directory(directory), directory)
    spec = class_in(entrypoint)
    match = _FORM.fullmatch(spec) if spec is not None else None
    if match is None:
        check.fail(f"entrypoint {entrypoint!r}", "module:Name, such as model_def:MyTrial")
        raise AssertionError  # fail() never returns
    module_name, path = match.groups()
    module = _import(module_name, spec or "", directory) if module_name else import_directory(directory)
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            check.fail(
                f"entrypoint {entrypoint!r}, but {module.__name__} has no {path}",
                "the name of a trial class",
                _elsewhere(path, module_name, directory) or _known(module),
            )
        found = getattr(found, name)
    if not (isinstance(found, type) and issubclass(found, Trial)):
        check.fail(
            f"entrypoint {entrypoint!r}, which is a {type(found).__name__}", "a subclass of det.Trial", _known(module)
        )
    return found  # type: ignore[no-any-return]


def _import(name: str, entrypoint: str, directory: str) -> ModuleType:
    root = name.split(".")[0]
    forget(root)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise
        modules = sorted(path.stem for path in pathlib.Path(directory).glob("*.py") if path.stem != "__init__")
        check.fail(
            f"entrypoint {entrypoint!r}, but there is no module {error.name}",
            "a module of the model definition",
            f"it has: {', '.join(modules) or 'no modules'}",
        )
        raise AssertionError from None


def forget(root: str) -> None:
    """Removes a module and its submodules from ``sys.modules``, so that another model definition can have a module of
    the same name.
    """
    for name in [n for n in sys.modules if n == root or n.startswith(root + ".")]:
        if not name.startswith("determined"):
            del sys.modules[name]


def import_directory(directory: str) -> ModuleType:
    """Imports a model definition as a package, from its ``__init__.py``."""
    path = pathlib.Path(directory).resolve()
    init = path / "__init__.py"
    if not init.is_file():
        check.fail(
            "an entrypoint without a module",
            "an __init__.py in the model definition",
            "or name the module: entrypoint: model_def:MyTrial",
        )
    name = re.sub(r"\W", "_", path.name) or "model_definition"
    if name in sys.modules and getattr(sys.modules[name], "__file__", "") != str(init):
        name = f"{name}_model_definition"
    forget(name)
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(path)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _trials(module: ModuleType) -> dict[str, type[Trial]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Trial)
        and not inspect.isabstract(value)
        and not value.__module__.startswith("determined.")
    }


def _known(module: ModuleType) -> str:
    names = ", ".join(sorted(_trials(module))) or "none"
    return f"trial classes in {module.__name__}: {names}"


def _elsewhere(name: str, package: str, directory: str) -> str:
    """Where the model definition defines a class of this name, according to its text; empty if nowhere."""
    root = pathlib.Path(directory)
    own = root.joinpath(*package.split("."))
    defined = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    for file in sorted(root.rglob("*.py"), key=lambda file: (own not in file.parents, len(file.parts), file)):
        if defined.search(file.read_text(errors="replace")):
            parts = file.relative_to(root).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            return f"{file.relative_to(root)} has that class; say entrypoint: {module}:{name}"
    return ""


def _only_trial(module: ModuleType, directory: str) -> type[Trial]:
    trials = set(_trials(module).values())
    if len(trials) != 1:
        check.fail(
            f"no entrypoint and an __init__.py with {len(trials)} trial classes",
            "exactly one, or an entrypoint in the configuration",
            _known(module),
        )
    return trials.pop()


@contextlib.contextmanager
def importable(directory: str | os.PathLike[str]) -> Iterator[None]:
    """A context manager inside which the modules of ``directory`` can be imported by name; it removes them again at the
    end.

    Nothing is written to ``directory``, not even ``__pycache__``, because it may belong to a checkpoint.
    """
    path, before, no_bytecode = list(sys.path), dict(sys.modules), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    own = {entry.stem for entry in pathlib.Path(directory).iterdir() if entry.suffix == ".py" or entry.is_dir()}
    for name in own:
        forget(name)
    sys.path.insert(0, os.fspath(directory))
    try:
        yield
    finally:
        sys.path[:] = path
        sys.dont_write_bytecode = no_bytecode
        for name in own:
            forget(name)
        sys.modules.update({name: module for name, module in before.items() if name.split(".")[0] in own})
