"""Packs a model definition for the master."""

from __future__ import annotations

import base64
import logging
import os
import pathlib
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from determined.common._ignore import IgnoreRules

logger = logging.getLogger("determined")

BYTES_MAX = 96 * 1000 * 1000
"""The maximum size of all files of a model definition; encoded, they still fit into one request."""

_ALWAYS = (
    "__pycache__/\n*.py[co]\n*$py.class\n.detignore\n"
    ".git\n.idea/\n.vscode/\n.mypy_cache/\n.terraform/\n*.tfstate\n*.tfstate.backup\n"
)
_DIRECTORY, _FILE = 53, 48  # as in tar


def read_context(directory: str | os.PathLike[str] | None, includes: Iterable[str | os.PathLike[str]] = ()) -> Any:
    """Returns the files of a directory, and the additional ones, in the format of the master.

    Compiled Python files and files that match a ``.detignore`` at the top of ``directory`` are left out. Links are
    followed. Files that cannot be read are skipped with a warning.

    Raises:
        FileNotFoundError, NotADirectoryError: the directory does not exist.
        ValueError: the files are too large, or two have the same name.
    """
    rules = IgnoreRules(_ALWAYS)
    found: dict[str, dict[str, Any]] = {}
    size = 0
    for path, name in _files(directory, includes, rules):
        entry = _entry(path, name)
        if entry is None:
            continue
        if name in found:
            raise ValueError(f"path {name!r} appears twice in the model definition")
        size += entry.pop("bytes")
        if size > BYTES_MAX:
            raise ValueError(
                f"directory {str(directory)!r} exceeds the maximum allowed size, {BYTES_MAX // 1000000} MB; "
                "name what is not needed in a .detignore file"
            )
        found[name] = entry
    return [found[name] for name in sorted(found)]


def _files(
    directory: str | os.PathLike[str] | None, includes: Iterable[str | os.PathLike[str]], rules: IgnoreRules
) -> Iterator[tuple[pathlib.Path, str]]:
    if directory is not None:
        root = pathlib.Path(directory)
        if not root.exists():
            raise FileNotFoundError(f"path {str(root)!r} doesn't exist")
        if not root.is_dir():
            raise NotADirectoryError(f"path {str(root)!r} must be a directory")
        if (root / ".detignore").is_file():
            rules.add((root / ".detignore").read_text(errors="surrogateescape"))
        yield from _below(root, "", rules, ())
    for include in includes:
        path = pathlib.Path(include)
        if not path.exists():
            raise FileNotFoundError(f"path {str(path)!r} doesn't exist")
        name = path.name if path.name not in ("", "..") else path.resolve().name
        if not rules.ignored(name, is_directory=path.is_dir()):
            yield path, name
            if path.is_dir():
                yield from _below(path, name + "/", rules, ())


def _below(
    directory: pathlib.Path, prefix: str, rules: IgnoreRules, above: tuple[tuple[int, int], ...]
) -> Iterator[tuple[pathlib.Path, str]]:
    status = directory.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        logger.warning("%s is skipped: it is a link to a directory that contains it", prefix.rstrip("/"))
        return
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        logger.warning("%s is skipped: it cannot be read (%s)", directory, error.strerror)
        return
    for path in entries:
        name = prefix + path.name
        is_directory = path.is_dir()
        if rules.ignored(name, is_directory=is_directory):
            continue
        yield path, name
        if is_directory:
            yield from _below(path, name + "/", rules, (*above, identity))


def _entry(path: pathlib.Path, name: str) -> dict[str, Any] | None:
    try:
        name.encode()
        status = path.stat()
        is_directory = stat.S_ISDIR(status.st_mode)
        if not is_directory and not stat.S_ISREG(status.st_mode):
            logger.warning("%s is skipped: it is neither a file nor a directory", name)
            return None
        if status.st_size > BYTES_MAX and not is_directory:
            raise ValueError(f"{name} is larger than the maximum size of a model definition, {BYTES_MAX // 1000000} MB")
        content = b"" if is_directory else path.read_bytes()
    except (OSError, UnicodeEncodeError) as error:
        logger.warning("%r is skipped: it cannot be read (%s)", name, error)
        return None
    return {
        "path": name,
        "type": _DIRECTORY if is_directory else _FILE,
        "content": base64.b64encode(content).decode(),
        "bytes": len(content),  # for the sum; it does not travel
        "mode": status.st_mode & 0o777,
        "mtime": str(int(status.st_mtime)),
        "uid": 0,
        "gid": 0,
    }
