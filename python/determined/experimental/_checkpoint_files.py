"""Finds and downloads a checkpoint's files."""

from __future__ import annotations

import pathlib
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from determined.common.api import Session
from determined.common.constants import SHARED_FS_CONTAINER_PATH
from determined.errors import NoDirectStorageAccess
from determined.experimental._checkpoint_fields import DownloadMode
from determined.experimental._resource import path_of


def fetch(
    uuid: str, storage: Mapping[str, Any], mode: DownloadMode, master: Callable[[], Session], target: pathlib.Path
) -> None:
    """Copies the files of a checkpoint into an empty directory.

    ``storage`` is the ``checkpoint_storage`` section of its experiment.

    Raises:
        NoDirectStorageAccess: the mode is ``DownloadMode.DIRECT``, and the storage is not accessible from here.
    """
    if mode is not DownloadMode.MASTER:
        places = [place / uuid for place in _places(storage)]
        for place in places:
            if place.is_dir():
                shutil.copytree(place, target, dirs_exist_ok=True)
                return
        if mode is DownloadMode.DIRECT:
            seen = ", ".join(map(str, places)) or f"storage of type {storage.get('type')}"
            raise NoDirectStorageAccess(f"the files of checkpoint {uuid} are not accessible from here: {seen}")
    with tempfile.TemporaryFile() as archive:
        master().download(path_of("checkpoints", uuid).removeprefix("/api/v1"), archive)
        archive.seek(0)
        with tarfile.open(fileobj=archive, mode="r:gz") as members:
            _extract(members, target)


def _places(storage: Mapping[str, Any]) -> Iterator[pathlib.Path]:
    """Where a shared file system may have the files."""
    if storage.get("type") == "directory":
        yield pathlib.Path(storage["container_path"])
    elif storage.get("type") == "shared_fs":
        host, below = pathlib.Path(storage["host_path"]), storage.get("storage_path") or ""
        yield host / below
        inside = pathlib.Path(below)
        if inside.is_absolute():
            inside = inside.relative_to(host) if inside.is_relative_to(host) else pathlib.Path()
        yield SHARED_FS_CONTAINER_PATH / inside


def _extract(members: tarfile.TarFile, directory: pathlib.Path) -> None:
    """Extracts files and directories only, and nothing outside ``directory``."""
    for member in members:
        path = pathlib.PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise ValueError(f"the archive of the checkpoint contains {member.name!r}, which is outside of it")
        target = directory / path
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = members.extractfile(member)
        assert content is not None
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)
