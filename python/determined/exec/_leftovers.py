"""What a trial leaves outside of its process: files in its working directory, shared memory."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil

_OWN_FILES = {"__pycache__"}
_SHARED_MEMORY = "/dev/shm"
_SYSTEM_V = [f"/proc/sysvipc/{kind}" for kind in ("shm", "sem", "msg")]


class Leftovers:
    """What was there before the trial, to tell what it has left."""

    def __init__(self, directory: str) -> None:
        self.directory = os.path.realpath(directory)
        self._files = _files(self.directory)
        self._shared = _shared()

    def can_be_removed(self) -> bool:
        """Whether nothing is left but new files: no file of the model definition has changed, and no shared memory was
        created.
        """
        now = _files(self.directory)
        return _shared() == self._shared and all(now.get(path) == before for path, before in self._files.items())

    def remove(self) -> None:
        """Removes new files."""
        for path in sorted(set(_files(self.directory)) - set(self._files)):
            _remove(path)


def _shared() -> list[str]:
    found: list[str] = []
    with contextlib.suppress(OSError):
        found = sorted(os.listdir(_SHARED_MEMORY))
    for table in _SYSTEM_V:
        with contextlib.suppress(OSError), open(table) as file:
            found.append(file.read())
    return found


def _files(directory: str) -> dict[str, tuple[int, int, int]]:
    """Kind, size and time of change of everything in the directory, by path; but for compiled modules."""
    found = {}
    for parent, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in _OWN_FILES]
        for name in [*directories, *names]:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                kept = (0, 0) if name in directories else (status.st_size, status.st_mtime_ns)
                found[path] = (status.st_mode, *kept)
    return found


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        pathlib.Path(path).unlink(missing_ok=True)
