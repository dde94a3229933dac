"""Merges the files and the metadata of all ranks into one checkpoint."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from determined import _metrics
from determined._compat import file_digest

Selector = Callable[[str], bool]
"""Takes a path relative to the checkpoint and returns whether to include it."""

Found = tuple[int, tuple[int, int, int]]
"""The size of a file, -1 for a directory; and its identity: machine, device, inode."""

DESCRIPTION = "metadata.json"
"""Written anew in every checkpoint; a file of this name in a directory belongs to another checkpoint."""


def relative_paths(directory: str | os.PathLike[str], selector: Selector | None) -> Iterator[str]:
    root = pathlib.Path(directory)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if selector is None or selector(name):
            yield name


def found_in(directory: str | os.PathLike[str] | None, selector: Selector | None, machine: int) -> dict[str, Found]:
    """The files that a rank on that machine has to upload."""
    if directory is None:
        return {}
    found = {}
    for name in relative_paths(directory, selector):
        if name == DESCRIPTION:
            continue
        stat = (pathlib.Path(directory) / name).stat()
        size = -1 if (pathlib.Path(directory) / name).is_dir() else stat.st_size
        found[name] = (size, (machine, stat.st_dev, stat.st_ino))
    return found


def doubtful(by_rank: list[dict[str, Found]]) -> list[str]:
    """Names of files that several ranks have with the same size in different places: their content decides."""
    places: dict[str, set[Found]] = {}
    for found in by_rank:
        for name, one in found.items():
            if one[0] >= 0:
                places.setdefault(name, set()).add(one)
    return [name for name, ones in places.items() if len(ones) > 1 and len({size for size, _ in ones}) == 1]


def digests(directory: str | os.PathLike[str] | None, names: Iterable[str]) -> dict[str, str]:
    """SHA-256 of those of the files that exist."""
    result = {}
    for name in names:
        path = pathlib.Path(directory or "") / name
        if directory is not None and path.is_file():
            with path.open("rb") as file:
                result[name] = file_digest(file, "sha256").hexdigest()
    return result


def conflicts(by_rank: list[dict[str, Found]], digests_by_rank: list[Mapping[str, str]]) -> list[str]:
    """Files of the same name that differ in size or content."""
    seen: dict[str, tuple[int, Any]] = {}
    problems = []
    for rank, found in enumerate(by_rank):
        for name, (size, _) in found.items():
            own = (size, digests_by_rank[rank].get(name))
            first, other = seen.setdefault(name, (rank, own))
            if other != own:
                problems.append(f"ranks {first} and {rank} have different files {name}")
    return problems


def merged(by_rank: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Returns the merged metadata of all ranks, with nested dicts merged key by key, and the contradictions in it."""
    together: dict[str, Any] = {}
    owners: dict[tuple[str, ...], int] = {}
    problems: list[str] = []

    def join(into: dict[str, Any], given: dict[str, Any], rank: int, above: tuple[str, ...]) -> None:
        for key, value in given.items():
            path = (*above, str(key))
            if key not in into:
                into[key] = {} if isinstance(value, dict) else value
                owners[path] = rank
            if isinstance(value, dict) and isinstance(into[key], dict):
                join(into[key], value, rank, path)
            elif _metrics.to_json(into[key]) != _metrics.to_json(value):
                name, values = ".".join(path), f"{into[key]!r} and {value!r}"
                problems.append(f"ranks {owners[path]} and {rank} have different metadata {name}: {values}")

    for rank, given in enumerate(by_rank):
        join(together, given, rank, ())
    return together, problems


def copy_selected(
    source: str | os.PathLike[str] | None,
    target: str | os.PathLike[str],
    selector: Selector | None,
    *,
    link: bool = False,
) -> None:
    """Copies the selected files. With ``link``, copies are for reading only and may be links, which need no space."""
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    if source is None:
        return
    for name in relative_paths(source, selector):
        path, copy = pathlib.Path(source) / name, pathlib.Path(target) / name
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            if link:
                with contextlib.suppress(OSError):
                    os.link(path.resolve(), copy)
                    continue
            shutil.copyfile(path, copy)
