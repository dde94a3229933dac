"""Finds out from the source code of a model definition which kinds of trials it uses, without running it."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from determined._definition import _entrypoint, _native

_TENSORFLOW = frozenset(
    {
        "determined.estimator",
        "determined.keras",
        "determined.tensorpack",
        "determined.experimental.estimator",
        "determined.experimental.keras",
    }
)


def needs_tensorflow(directory: pathlib.Path, config: Mapping[str, Any]) -> bool:
    """Whether the trial of this configuration runs on TensorFlow.

    Only the entry point's module and the files of the model definition that it imports count, so other modules may
    define TensorFlow trials.
    """
    return bool(on_tensorflow(directory, config))


def on_tensorflow(directory: pathlib.Path, config: Mapping[str, Any]) -> set[str]:
    """The kinds of TensorFlow trials that the entry point's module imports: "estimator", "keras", "tensorpack"."""
    return {name.rpartition(".")[2] for name in _TENSORFLOW & names_used(directory, config)}


def names_used(directory: pathlib.Path, config: Mapping[str, Any]) -> set[str]:
    """The dotted names, such as ``tensorflow.train.Saver``, that the entry point's module and its imports use."""
    if directory in _kept:
        return _kept[directory]
    start = _entry(directory, config)
    return _names(start, directory) if start is not None else set()


def keep_names(directory: pathlib.Path, config: Mapping[str, Any]) -> None:
    """Reads the files once for all trials of this process and its forks, because they stay as they are."""
    _kept[directory] = names_used(directory, config)


_kept: dict[pathlib.Path, set[str]] = {}


def _entry(directory: pathlib.Path, config: Mapping[str, Any]) -> pathlib.Path | None:
    """The file of the entry point; None if there is none."""
    if (command := _native.command_of(config)) is not None:
        script = directory / command[0]
        return script if script.is_file() else None
    entrypoint = config.get("entrypoint")
    if entrypoint is None:
        return _module(directory, "")
    spec = _entrypoint.class_in(entrypoint)
    return _module(directory, spec.partition(":")[0]) if spec is not None else None


def _module(root: pathlib.Path, dotted: str) -> pathlib.Path | None:
    path = root.joinpath(*[part for part in dotted.split(".") if part])
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _names(start: pathlib.Path, root: pathlib.Path) -> set[str]:
    """The dotted names that a file uses, and those of the files that it imports from ``root``."""
    found: set[str] = set()
    seen: set[pathlib.Path] = set()
    todo = [start]
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue  # the import will raise the error
        for name in _used(tree, file, root):
            found.add(name)
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                if (below := _module(root, ".".join(parts[:count]))) is not None:
                    todo.append(below)
    return found


def _used(tree: ast.AST, file: pathlib.Path, root: pathlib.Path) -> Iterator[str]:
    """The dotted names of imports, and of attributes of imported names."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            package = _package(node, file, root)
            for alias in node.names:
                name = f"{package}.{alias.name}" if package else alias.name
                bound[alias.asname or alias.name] = name
                yield name
                yield package
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (reached := _dotted(node, bound)) is not None:
            yield reached


def _package(node: ast.ImportFrom, file: pathlib.Path, root: pathlib.Path) -> str:
    if node.level == 0:
        return node.module or ""
    folder = file.parent
    for _ in range(node.level - 1):
        folder = folder.parent
    try:
        parts = list(folder.relative_to(root).parts)
    except ValueError:
        parts = []
    return ".".join([*parts, *(node.module or "").split(".")]).strip(".")


def _dotted(node: ast.expr, bound: Mapping[str, str]) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in bound:
        return None
    return ".".join([bound[node.id], *reversed(parts)])
