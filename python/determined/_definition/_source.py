"""The submitted source of a model definition, as it was before the trial started."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Iterator

_KEEP_IN_MEMORY_BYTES = 1 << 20
_IGNORED = ("__pycache__",)


class SourceSnapshot:
    """Records a model definition at the start of a trial and writes it into checkpoints.

    Source files are kept in memory, so that later changes of the trial in its directory have no effect. Files above 1
    MiB (data, weights) are recorded by name and copied when they are needed.
    """

    def __init__(self, root: str) -> None:
        self._root = pathlib.Path(root).resolve()
        self._contents: dict[pathlib.Path, bytes] = {}
        self._large: list[pathlib.Path] = []
        self._directories: list[pathlib.Path] = []
        for path in _walk(self._root):
            relative = path.relative_to(self._root)
            if path.is_dir():
                self._directories.append(relative)
            elif path.stat().st_size <= _KEEP_IN_MEMORY_BYTES:
                self._contents[relative] = path.read_bytes()
            else:
                self._large.append(relative)

    @property
    def root(self) -> str:
        return str(self._root)

    def mentions(self, word: str) -> bool:
        """Whether any Python file contains a word."""
        return any(word.encode() in text for path, text in self._contents.items() if path.suffix == ".py")

    def write(self, target: pathlib.Path) -> None:
        """Writes the source to ``target``, which must not exist."""
        target.mkdir()
        for relative in self._directories:
            (target / relative).mkdir()
        for relative, content in self._contents.items():
            (target / relative).write_bytes(content)
        for relative in self._large:
            if (self._root / relative).is_file():
                shutil.copyfile(self._root / relative, target / relative)


def _walk(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _IGNORED)
        here = pathlib.Path(folder)
        for name in names:
            if not (here / name).is_symlink():
                yield here / name
        for name in sorted(files):
            if not name.endswith((".pyc", ".pyo")) and (here / name).is_file():
                yield here / name
