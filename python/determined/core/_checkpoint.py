"""Checkpoints of loops of your own."""

from __future__ import annotations

import contextlib
import enum
import json
import logging
import os
import pathlib
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from determined import _metrics
from determined._info import ClusterInfo
from determined.common.api.errors import APIException
from determined.core._connection import Master
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined")

Selector = Callable[[str], bool]
"""Says of a path, relative to the checkpoint, whether it takes part."""


class DownloadMode(enum.Enum):
    """How the ranks of one machine fetch a checkpoint."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    """Local rank 0 fetches, the others wait for it; all ranks call, with the same directory."""
    NoSharedDownload = "NO_SHARED_DOWNLOAD"
    """Each caller fetches for itself."""


class Storage(Protocol):
    def save(self, directory: str, uuid: str) -> Mapping[str, int]: ...
    def restore(self, uuid: str, directory: str) -> None: ...
    def path(self, uuid: str) -> str | None: ...


class CheckpointContext:
    """Saves and fetches checkpoints, each a directory of files. Its id is a uuid.

    Outside the cluster they are kept in a directory, without a master.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        storage: Storage,
        info: ClusterInfo | None,
        master: Master | None,
        shared_root: pathlib.Path | None = None,
        *,
        unmanaged: bool = False,
    ) -> None:
        self._distributed = distributed
        self._storage = storage
        self._shared_root = shared_root
        self._info = info
        self._master = master
        self._unmanaged = unmanaged

    def upload(
        self,
        ckpt_dir: str | os.PathLike[str] | None,
        metadata: dict[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
    ) -> str:
        """Saves a directory as a checkpoint and tells the master of it; its id.

        ``metadata`` must have ``steps_completed``. With ``shard=True`` all ranks call, each with its own directory (or
        None) and metadata (or None; the chief's must have ``steps_completed``), and the checkpoint has the files and
        the metadata of all. The checkpoint is there as a whole or not at all.

        Raises:
            ValueError: ``metadata`` lacks ``steps_completed``, or two ranks have different files of one name, or
                different values of one key.
            RuntimeError: without ``shard``, on a rank that is not the chief.
            FileNotFoundError: there is no such directory.
        """
        self._check_may_save(metadata, shard)
        if not shard and ckpt_dir is None:
            raise ValueError("ckpt_dir is None; only with shard=True may a rank have nothing to save")
        if ckpt_dir is not None and not pathlib.Path(ckpt_dir).is_dir():
            raise FileNotFoundError(f"{ckpt_dir} is no directory")
        if shard and self._distributed.size > 1:
            identifier = self._distributed.broadcast(str(uuid.uuid4()))
            return self._upload_shards(ckpt_dir, metadata, selector, identifier)
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as draft:
            _copy_selected(ckpt_dir, draft, selector, link=True)
            return self._commit(draft, str(uuid.uuid4()), metadata or {})

    def _check_may_save(self, metadata: dict[str, Any] | None, shard: bool) -> None:
        rank = self._distributed.rank
        if not shard and rank != 0:
            raise RuntimeError(
                f"rank {rank} can't save a checkpoint alone; only the chief does, or all with shard=True"
            )
        if rank == 0:
            _check_metadata(metadata)

    def _upload_shards(
        self,
        ckpt_dir: str | os.PathLike[str] | None,
        metadata: dict[str, Any] | None,
        selector: Selector | None,
        identifier: str,
    ) -> str:
        """All ranks copy into one draft that all can see; then the chief saves it."""
        dist = self._distributed
        draft: str | None = dist.broadcast(self._shared_draft(identifier) if dist.rank == 0 else None)
        if draft is None:
            raise NotImplementedError(
                "this storage can't take shards from several machines; gather the files on the chief, or use shared_fs"
            )
        problem, names = "", {}
        try:
            names = _file_sizes(ckpt_dir, selector)
        except OSError as error:
            problem = f"rank {dist.rank}: {error}"
        plans = dist.allgather((problem, names, metadata or {}))
        together, differing = _merged([given for _, _, given in plans])
        problems = [text for text, _, _ in plans if text]
        problems = problems or [*_conflicts([files for _, files, _ in plans]), *differing]
        if not problems:
            mine = {name for name in names if not any(name in files for _, files, _ in plans[: dist.rank])}
            try:
                _copy_selected(ckpt_dir, draft, lambda name: name in mine, link=True)
            except OSError as error:
                problem = f"rank {dist.rank}: {error}"
            problems = [text for text in dist.allgather(problem) if text]
        try:
            if dist.rank == 0 and not problems:
                with _reason(problems):
                    self._commit(draft, identifier, together)
            problems = dist.broadcast(problems)
        finally:
            if dist.rank == 0:
                shutil.rmtree(draft, ignore_errors=True)
        if problems:
            raise ValueError(f"the checkpoint was not saved: {'; '.join(problems)}")
        return identifier

    def _shared_draft(self, identifier: str) -> str | None:
        if self._distributed.cross_size == 1:
            return tempfile.mkdtemp(prefix="checkpoint-")
        if self._shared_root is None:
            return None
        self._begin(identifier)
        draft = self._shared_root / f".draft-{identifier}"
        draft.mkdir(parents=True)
        return str(draft)

    def _begin(self, identifier: str) -> None:
        """Tells the master what is about to be saved, so that it can delete the files if nobody ever reports them."""
        if self._master is None or self._info is None or self._unmanaged:
            return
        try:
            self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/checkpoints/begin", {"uuid": identifier})
        except APIException as error:
            if error.status_code != 501:  # an older master does not know the call
                raise

    def _commit(self, draft: str, identifier: str, metadata: dict[str, Any]) -> str:
        described = pathlib.Path(draft) / "metadata.json"
        if not described.exists():
            described.write_text(_metrics.to_json(metadata) + "\n")
        self._begin(identifier)
        resources = self._storage.save(draft, identifier)
        if self._master is None or self._info is None:
            logger.info(
                "checkpoint %s of step %s in %s",
                identifier,
                metadata["steps_completed"],
                self._storage.path(identifier),
            )
            return identifier
        self._master.post(
            "/api/v1/checkpoints",
            {
                "uuid": identifier,
                "taskId": self._info.task_id,
                "allocationId": self._info.allocation_id,
                "resources": {name: str(size) for name, size in resources.items()},
                "metadata": metadata,
                "state": "STATE_COMPLETED",
            },
        )
        logger.info("checkpoint %s of step %s", identifier, metadata["steps_completed"])
        return identifier

    @contextlib.contextmanager
    def store_path(self, metadata: dict[str, Any], *, shard: bool = False) -> Iterator[tuple[pathlib.Path, str]]:
        """A directory to write into, saved as a checkpoint when the block ends without an error.

        Example::

            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                torch.save(model.state_dict(), path / "model.pth")

        Raises: as :meth:`upload`.
        """
        self._check_may_save(metadata, shard)
        # The id must be known before anything is written.
        identifier = str(uuid.uuid4())
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
            if shard and self._distributed.size > 1:
                fixed = self._distributed.broadcast(identifier)
                yield pathlib.Path(directory), fixed
                self._upload_shards(directory, metadata, None, fixed)
            else:
                yield pathlib.Path(directory), identifier
                self._commit(directory, identifier, metadata)

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> Iterator[pathlib.Path]:
        """The files of a checkpoint, to be read and not changed: in place where the storage is a file system."""
        _check_storage_id(storage_id)
        place = self._storage.path(storage_id)
        if place is not None and selector is None:
            if not pathlib.Path(place).is_dir():
                raise FileNotFoundError(f"checkpoint {storage_id} is not in storage: there is no {place}")
            yield pathlib.Path(place)
            return
        shared = download_mode is DownloadMode.LocalWorkersShareDownload and self._distributed.local_size > 1
        directory: str = (
            tempfile.mkdtemp(prefix="checkpoint-") if not shared or self._distributed.local_rank == 0 else ""
        )
        try:
            if shared:
                directory = self._distributed.broadcast_local(directory)
            self.download(storage_id, directory, download_mode, selector=selector)
            yield pathlib.Path(directory)
            if shared:
                self._distributed.gather_local(None)  # all have read it
        finally:
            if not shared or self._distributed.local_rank == 0:
                shutil.rmtree(directory, ignore_errors=True)

    def download(
        self,
        storage_id: str,
        ckpt_dir: str | os.PathLike[str],
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> None:
        """Fetches the files of a checkpoint into a directory.

        Raises:
            FileNotFoundError: the checkpoint is not in storage.
        """
        shared = download_mode is DownloadMode.LocalWorkersShareDownload and self._distributed.local_size > 1
        problem = ""
        if not shared or self._distributed.local_rank == 0:
            try:
                self._fetch(storage_id, str(ckpt_dir), selector)
            except OSError as error:
                if not shared:
                    raise
                problem = str(error)
        if shared and (problem := self._distributed.broadcast_local(problem)):
            raise FileNotFoundError(problem)

    def _fetch(self, storage_id: str, directory: str, selector: Selector | None) -> None:
        _check_storage_id(storage_id)
        place = self._storage.path(storage_id)
        if place is not None:
            if not pathlib.Path(place).is_dir():
                raise FileNotFoundError(f"checkpoint {storage_id} is not in storage: there is no {place}")
            _copy_selected(place, directory, lambda name: name != _MANIFEST and (selector is None or selector(name)))
            return
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as whole:
            self._storage.restore(storage_id, whole)
            _copy_selected(whole, directory, selector)

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """What was given as metadata when the checkpoint was saved, and what was added since."""
        if self._master is not None:
            answer = self._master.get(f"/api/v1/checkpoints/{storage_id}")
            return dict(answer["checkpoint"]["metadata"])
        _check_storage_id(storage_id)
        place = self._storage.path(storage_id)
        file = pathlib.Path(place or "") / "metadata.json"
        if place is None or not file.is_file():
            raise FileNotFoundError(f"checkpoint {storage_id} is not in storage")
        return dict(json.loads(file.read_text()))

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint from storage.

        Raises:
            BadRequestException: the trial would resume from it, or a model's version names it.
        """
        if self._master is not None:
            self._master.delete("/api/v1/checkpoints", {"checkpointUuids": [storage_id]})
            return
        _check_storage_id(storage_id)
        place = self._storage.path(storage_id)
        if place is None or not pathlib.Path(place).is_dir():
            raise FileNotFoundError(f"checkpoint {storage_id} is not in storage")
        shutil.rmtree(place)


_MANIFEST = ".det-manifest.json"  # the storage's own


def _check_storage_id(storage_id: str) -> None:
    """It names a directory of the storage, and nothing above or beside it."""
    if not isinstance(storage_id, str) or storage_id in ("", ".", "..") or "/" in storage_id:
        raise ValueError(f"{storage_id!r} is no checkpoint's id; it must be the UUID that saving it returned")


def _check_metadata(metadata: dict[str, Any] | None) -> None:
    steps = (metadata or {}).get("steps_completed")
    if not isinstance(steps, int) or isinstance(steps, bool):
        raise ValueError(
            f"metadata['steps_completed'] is {steps!r}; must be a whole number: how far the trial was trained"
        )


def _relative_paths(directory: str | os.PathLike[str], selector: Selector | None) -> Iterator[str]:
    root = pathlib.Path(directory)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if selector is None or selector(name):
            yield name


def _file_sizes(directory: str | os.PathLike[str] | None, selector: Selector | None) -> dict[str, int]:
    if directory is None:
        return {}
    root = pathlib.Path(directory)
    return {
        name: -1 if (root / name).is_dir() else (root / name).stat().st_size
        for name in _relative_paths(directory, selector)
    }


def _conflicts(plans: list[dict[str, int]]) -> list[str]:
    """Files of one name that differ in size; those of equal size are taken for the same."""
    seen: dict[str, tuple[int, int]] = {}
    problems = []
    for rank, files in enumerate(plans):
        for name, size in files.items():
            first, other = seen.setdefault(name, (rank, size))
            if other != size:
                problems.append(f"ranks {first} and {rank} have different files {name}")
    return problems


def _merged(by_rank: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The metadata of all ranks, dicts within joined key by key; and what contradicts itself."""
    merged: dict[str, Any] = {}
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
        join(merged, given, rank, ())
    return merged, problems


def _copy_selected(
    source: str | os.PathLike[str] | None,
    target: str | os.PathLike[str],
    selector: Selector | None,
    *,
    link: bool = False,
) -> None:
    """``link``: the copies are for reading only, and need no space where they can be links."""
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    if source is None:
        return
    for name in _relative_paths(source, selector):
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


@contextlib.contextmanager
def _reason(problems: list[str]) -> Iterator[None]:
    """Notes what went wrong, so that the other ranks can be told before all end."""
    try:
        yield
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
