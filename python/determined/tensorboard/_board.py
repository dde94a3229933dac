"""The TensorBoard files of this process, and their copies in the checkpoint storage."""

from __future__ import annotations

import logging
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from determined import _arguments
from determined._bucket import Bucket, bucket_of
from determined.tensorboard._events import EventFile

logger = logging.getLogger("determined")

Selector = Callable[[pathlib.Path], bool]
Mangler = Callable[[pathlib.Path, int], pathlib.Path]

_UPLOAD_SECONDS = 10.0  # a bucket takes whole files only, and every report adds a line to one
_MOUNTED = pathlib.Path("/determined_shared_fs")  # where tasks see host_path, if it is mounted for them

_base: pathlib.Path | None = None
_flushes: list[Callable[[], Any]] = []


def get_base_path() -> pathlib.Path:
    """Returns the directory to which this process writes event files; the first call creates it."""
    global _base
    if _base is None:
        _base = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
    return _base


def flushed_before_copying(flush: Callable[[], Any]) -> None:
    """Registers a function to call before files are copied."""
    _flushes.append(flush)


def forget() -> None:
    """Drops the files of this process, and what was registered."""
    _remove_base()
    _flushes.clear()


def _remove_base() -> None:
    global _base
    if _base is not None:
        shutil.rmtree(_base, ignore_errors=True)
        _base = None


def storage_root(config: Mapping[str, Any]) -> pathlib.Path | None:
    """The directory of a ``checkpoint_storage`` section that is a file system of all machines; None for others."""
    if config.get("type") == "directory":
        return pathlib.Path(config["container_path"])
    if config.get("type") == "shared_fs":
        host, stored = pathlib.Path(config["host_path"]), pathlib.Path(config.get("storage_path") or "")
        if not _MOUNTED.is_dir():
            return host / stored
        return _MOUNTED / (stored.relative_to(host) if stored.is_absolute() else stored)
    return None


def storage_place(config: Mapping[str, Any]) -> pathlib.Path | Bucket | None:
    """Where event files are stored for a ``checkpoint_storage`` section."""
    return storage_root(config) or bucket_of(config)


class Board:
    """Writes the chief's metrics as scalars, and stores a copy of all event files with the checkpoints. Where that is a
    file system, the file of the metrics is written there at once.

    A failed copy is logged once and does not end the trial. A board that is ``apart`` has a directory of its own in
    place of :func:`get_base_path`, so that a thread of its own can write to it; with ``directory``, that is where the
    files are already, and where they stay.
    """

    def __init__(
        self,
        root: pathlib.Path | Bucket | None,
        cluster_id: str,
        experiment_id: int,
        trial_id: int,
        *,
        apart: bool = False,
        directory: pathlib.Path | None = None,
    ) -> None:
        self._apart = apart or directory is not None
        self._own = directory
        self._keeps = directory is not None
        self._target: pathlib.Path | None = None
        self._bucket: Bucket | None = None
        self._uploaded: dict[str, int] = {}
        self._upload_due = 0.0
        below = f"{cluster_id}/tensorboard/experiment/{experiment_id}/trial/{trial_id}"
        if isinstance(root, Bucket) and cluster_id:
            self._bucket = root / below
        elif isinstance(root, pathlib.Path) and cluster_id:
            self._target = root / below
        self._file: EventFile | None = None
        self._warned = False

    @property
    def target(self) -> pathlib.Path | None:
        """The directory of the copies; None if the storage is not a file system."""
        return self._target

    def training(self, step: int, metrics: Mapping[str, Any]) -> None:
        """The averages of a report."""
        self._scalars(step, {f"Determined/{name}": value for name, value in metrics.items()})

    def validation(self, step: int, metrics: Mapping[str, Any]) -> None:
        names = {name: str(name) for name in metrics}  # a class's number may be one
        prefixed = {text if text.startswith("val") else f"val_{text}": metrics[name] for name, text in names.items()}
        self._scalars(step, {f"Determined/{name}": value for name, value in prefixed.items()})

    def measured(self, seconds: int, group: str, agent: str, values: Mapping[str, Any]) -> None:
        """What the profiler measured on a machine; ``seconds`` since 1970."""
        self._scalars(seconds, system_scalars(group, agent, values))

    def _scalars(self, step: int, values: Mapping[str, Any]) -> None:
        numbers = {name: number for name, value in values.items() if (number := _number(value)) is not None}
        try:
            if numbers:
                self._file = self._file or self._new_file()
                self._file.scalars(step, numbers)
        except OSError as error:
            self._warn(error)
        self.copy()

    def _new_file(self) -> EventFile:
        if self._target is not None and not self._keeps:  # what others write is copied there
            os.makedirs(self._target, exist_ok=True)
            return EventFile(self._target, "profiler" if self._apart else "determined")
        if not self._apart:
            return EventFile(get_base_path())
        self._own = pathlib.Path(tempfile.mkdtemp(prefix="profiler-"))
        return EventFile(self._own, "profiler")

    def copy(self, selector: Selector = lambda _: True, mangler: Mangler = lambda path, _: path, rank: int = 0) -> None:
        """Updates the copy. Event files only grow, so only new content is appended."""
        base = self._own if self._apart else _base
        if base is None or (self._target is None and self._bucket is None):
            return
        if self._bucket is not None and time.monotonic() < self._upload_due:
            return
        try:
            for flush in () if self._apart else _flushes:
                flush()
            for name in _files(str(base)):
                relative = pathlib.Path(name)
                if selector(relative):
                    self._keep(base / name, mangler(relative, rank))
        except OSError as error:
            self._warn(error)
        self._upload_due = time.monotonic() + _UPLOAD_SECONDS

    def _keep(self, path: pathlib.Path, name: pathlib.Path) -> None:
        if self._target is not None:
            _append(str(path), str(self._target / name))
        elif self._bucket is not None and self._uploaded.get(str(name)) != (size := path.stat().st_size):
            self._bucket.put(str(name), path)
            self._uploaded[str(name)] = size

    def close(self) -> None:
        """Copies the rest, and removes the files of this process."""
        self._upload_due = 0.0
        self.copy()
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._own is not None and not self._keeps:
            shutil.rmtree(self._own, ignore_errors=True)
            self._own = None
        if self._apart:
            return
        if (self._target or self._bucket) is not None and not _flushes:
            _remove_base()

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            logger.warning("TensorBoard's files can't be stored in %s: %s", self._target or self._bucket, error)
        self._warned = True


def system_scalars(group: str, agent: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the profiler measured, by the names of its curves: ``System/gpu/gpu_util/<agent>/<GPU>``."""
    curves: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):  # of a disk or a GPU
            device = name.strip("/") or "root"
            curves |= {f"System/{group}/{inner}/{agent}/{device}": number for inner, number in value.items()}
        else:
            curves[f"System/{group}/{name}/{agent}"] = value
    return curves


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, str, bytes)) or value is None:
        return None
    try:
        return float(_arguments.detached(value))
    except (TypeError, ValueError):
        return None


# Every report waits for the two below: with paths in place of names it waited twice as long.


def _files(directory: str, prefix: str = "") -> Iterator[str]:
    """The files in a directory and its subdirectories, by relative name."""
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif entry.is_file():
                yield prefix + entry.name


def _append(source: str, target: str) -> None:
    try:
        have = os.stat(target).st_size
    except FileNotFoundError:
        have = 0
        os.makedirs(os.path.dirname(target), exist_ok=True)
    size = os.stat(source).st_size
    if have == size:
        return
    with open(source, "rb") as new, open(target, "ab" if have < size else "wb") as out:
        new.seek(have if have < size else 0)
        shutil.copyfileobj(new, out)
