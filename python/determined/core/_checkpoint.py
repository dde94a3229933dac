"""Checkpoints of custom training loops."""

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

from determined import _arguments, _metrics
from determined._info import ClusterInfo
from determined._run._background import Background
from determined.common.api.errors import APIException
from determined.core import _shards
from determined.core._connection import Master
from determined.core._distributed import DistributedContext
from determined.core._shards import Selector

logger = logging.getLogger("determined")


class DownloadMode(enum.Enum):
    """How the ranks of one machine download a checkpoint."""

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    """Local rank 0 downloads and the others wait. All ranks must call, with the same directory."""
    NoSharedDownload = "NO_SHARED_DOWNLOAD"
    """Each caller downloads for itself."""


class Storage(Protocol):
    def save(self, directory: str, uuid: str) -> Mapping[str, int]: ...
    def draft(self, uuid: str) -> str: ...
    def publish(self, uuid: str, draft: str) -> Mapping[str, int]: ...
    def drop(self, draft: str) -> None: ...
    def place(self, uuid: str) -> str | None: ...
    def restore(self, uuid: str, directory: str) -> None: ...
    def verify(self, uuid: str) -> None: ...


class CheckpointContext:
    """Saves and loads checkpoints. A checkpoint is a directory of files, identified by a UUID.

    Outside a cluster, checkpoints are stored in a directory, without a master.
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
        self._background = Background("checkpoint")

    def upload(
        self,
        ckpt_dir: str | os.PathLike[str] | None,
        metadata: dict[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
    ) -> str:
        """Saves a directory as a checkpoint, reports it to the master, and returns its UUID.

        ``metadata`` must have ``steps_completed``. With ``shard=True`` all ranks must call, each with its own directory
        (or None) and metadata (or None; the chief's must have ``steps_completed``). The checkpoint then contains the
        files and the metadata of all ranks. A checkpoint is saved completely or not at all.

        Raises:
            ValueError: ``metadata`` lacks ``steps_completed``, or two ranks have different files of the same name or
                different values of the same key.
            RuntimeError: ``shard`` is False, and this rank is not the chief.
            FileNotFoundError: the directory does not exist.
        """
        self.wait()
        self._check_may_save(metadata, shard)
        if not shard and ckpt_dir is None:
            raise ValueError("ckpt_dir is None; pass a directory, or shard=True if this rank has nothing to save")
        if ckpt_dir is not None and not pathlib.Path(ckpt_dir).is_dir():
            raise FileNotFoundError(f"ckpt_dir is {ckpt_dir}, which is not a directory")
        if shard and self._distributed.size > 1:
            identifier = self._distributed.broadcast(str(uuid.uuid4()))
            return self._upload_shards(ckpt_dir, metadata, selector, identifier)
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as draft:
            _shards.copy_selected(ckpt_dir, draft, selector, link=True)
            identifier = str(uuid.uuid4())
            self._commit(draft, identifier, _checked(metadata), self._save)
            return identifier

    def wait(self) -> None:
        """Waits until what ``store_path(…, wait=False)`` saves is stored. Raises the error if that failed.

        The next checkpoint and the end of the context wait as well. Call it before you report an operation of the
        searcher as completed: another trial may start from the checkpoint.
        """
        self._background.wait()

    def _check_may_save(self, metadata: dict[str, Any] | None, shard: bool) -> None:
        rank = self._distributed.rank
        if not shard and rank != 0:
            raise RuntimeError(
                f"rank {rank} can't save a checkpoint alone; call upload() or store_path() on the chief only, or on "
                "all ranks with shard=True"
            )
        if rank == 0:
            _checked(metadata)

    def _upload_shards(
        self,
        ckpt_dir: str | os.PathLike[str] | None,
        metadata: dict[str, Any] | None,
        selector: Selector | None,
        identifier: str,
        *,
        wait: bool = True,
    ) -> str:
        """All ranks copy into one draft that all can see; then the chief saves it, with ``wait=False`` alone."""
        dist = self._distributed
        draft: str | None = dist.broadcast(self._shared_draft(identifier) if dist.rank == 0 else None)
        if draft is None:
            raise NotImplementedError(
                "this checkpoint_storage does not support shards from several machines; gather the files on the "
                "chief, or use shared_fs"
            )
        problem, names, given = "", {}, {}
        try:
            given = _checked(metadata) if dist.rank == 0 else _plain(metadata)
            names = _shards.found_in(ckpt_dir, selector, dist.cross_rank)
        except (OSError, TypeError, ValueError) as error:
            problem = f"rank {dist.rank}: {error}"
        plans = dist.allgather((problem, names, given))
        problems = [text for text, _, _ in plans if text]
        together, differing = _shards.merged([one for _, _, one in plans])
        problems = problems or [*self._conflicts(ckpt_dir, [files for _, files, _ in plans]), *differing]
        if not problems:
            mine = {name for name in names if not any(name in files for _, files, _ in plans[: dist.rank])}
            try:
                _shards.copy_selected(ckpt_dir, draft, lambda name: name in mine, link=True)
            except OSError as error:
                problem = f"rank {dist.rank}: {error}"
            problems = [text for text in dist.allgather(problem) if text]
        complete = draft

        def commit() -> None:
            try:
                self._commit(complete, identifier, together, self._save)
            finally:
                shutil.rmtree(complete, ignore_errors=True)

        if dist.rank == 0 and problems:
            shutil.rmtree(draft, ignore_errors=True)
        elif dist.rank == 0 and not wait:
            self._background.start(commit)
        elif dist.rank == 0:
            with _reason(problems):
                commit()
        if wait:
            problems = dist.broadcast(problems)
        if problems:
            raise ValueError(f"the checkpoint was not saved: {'; '.join(problems)}")
        return identifier

    def _conflicts(self, ckpt_dir: str | os.PathLike[str] | None, by_rank: list[dict[str, _shards.Found]]) -> list[str]:
        """Files of the same name that differ between ranks. All ranks must call."""
        doubtful = _shards.doubtful(by_rank)
        if not doubtful:
            return _shards.conflicts(by_rank, [{}] * len(by_rank))
        problem, mine = "", {}
        try:
            mine = _shards.digests(ckpt_dir, [name for name in doubtful if name in by_rank[self._distributed.rank]])
        except OSError as error:
            problem = f"rank {self._distributed.rank}: {error}"
        told = self._distributed.allgather((problem, mine))
        problems = [text for text, _ in told if text]
        return problems or _shards.conflicts(by_rank, [one for _, one in told])

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
        """Tells the master what is about to be saved, so that it can delete the files if they are never reported."""
        if self._master is None or self._info is None or self._unmanaged:
            return
        try:
            self._master.post(f"/api/v1/trials/{self._info.trial.trial_id}/checkpoints/begin", {"uuid": identifier})
        except APIException as error:
            if error.status_code != 501:  # an older master does not know the call
                raise

    def _save(self, directory: str, identifier: str) -> Mapping[str, int]:
        self._begin(identifier)
        return self._storage.save(directory, identifier)

    def _commit(
        self,
        draft: str,
        identifier: str,
        metadata: dict[str, Any],
        store: Callable[[str, str], Mapping[str, int]],
    ) -> None:
        text = _metrics.to_json(metadata, "metadata")
        described = pathlib.Path(draft) / _shards.DESCRIPTION
        described.unlink(missing_ok=True)  # another checkpoint's; it may be a link to the user's own file
        described.write_text(text + "\n")
        resources = store(draft, identifier)
        if self._master is None or self._info is None:
            place = self._storage.place(identifier)
            logger.info("checkpoint %s of step %s in %s", identifier, metadata["steps_completed"], place)
            return
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

    @contextlib.contextmanager
    def store_path(
        self, metadata: dict[str, Any], *, shard: bool = False, wait: bool = True
    ) -> Iterator[tuple[pathlib.Path, str]]:
        """A context manager with a directory to write into; saves it as a checkpoint when the block ends without an
        error. With ``wait=False`` training goes on while the files are hashed, synced and reported: see :meth:`wait`.

        Example::

            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                torch.save(model.state_dict(), path / "model.pth")

        Raises: as :meth:`upload`.
        """
        self.wait()
        self._check_may_save(metadata, shard)
        # The id must be known before anything is written.
        identifier = str(uuid.uuid4())
        if shard and self._distributed.size > 1:
            fixed = self._distributed.broadcast(identifier)
            with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
                yield pathlib.Path(directory), fixed
                self._upload_shards(directory, metadata, None, fixed, wait=wait)
            return
        self._begin(identifier)
        draft = self._storage.draft(identifier)
        try:
            yield pathlib.Path(draft), identifier
            checked = _checked(metadata)
        except BaseException:
            self._storage.drop(draft)
            raise

        def commit() -> None:
            self._commit(draft, identifier, checked, lambda place, name: self._storage.publish(name, place))

        if wait:
            commit()
        else:
            self._background.start(commit)

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> Iterator[pathlib.Path]:
        """A context manager with the directory of a checkpoint. Read its files, but do not change them.

        If the storage is a file system, the files are read in place, and any rank may call on its own. Otherwise the
        ranks of a machine share a download: all of them must call, and they get the files that any of them selects.
        """
        _check_storage_id(storage_id)
        mode = _arguments.choice(DownloadMode, download_mode, "download_mode")
        if self._storage.place(storage_id) is not None:
            with self._files_of(storage_id) as source:
                if selector is None:
                    yield pathlib.Path(source)
                    return
                with tempfile.TemporaryDirectory(prefix="checkpoint-") as own:
                    _shards.copy_selected(source, own, _selected(selector), link=True)
                    yield pathlib.Path(own)
            return
        shared = mode is DownloadMode.LocalWorkersShareDownload and self._distributed.local_size > 1
        directory: str = (
            tempfile.mkdtemp(prefix="checkpoint-") if not shared or self._distributed.local_rank == 0 else ""
        )
        try:
            if shared:
                directory = self._distributed.broadcast_local(directory)
            self.download(storage_id, directory, mode, selector=selector)
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
        """Downloads the files of a checkpoint into a directory.

        Ranks that share a download get the files that any of them selects. A rank without a selector selects
        everything.

        Raises:
            FileNotFoundError: the checkpoint is not in storage.
        """
        _check_storage_id(storage_id)
        mode = _arguments.choice(DownloadMode, download_mode, "download_mode")
        if mode is DownloadMode.NoSharedDownload or self._distributed.local_size == 1:
            with self._files_of(storage_id) as files:
                _shards.copy_selected(files, ckpt_dir, _selected(selector))
            return
        problem = ""
        with contextlib.ExitStack() as held:
            source: str | None = None
            names: list[str] = []
            if self._distributed.local_rank == 0:
                try:
                    source = held.enter_context(self._files_of(storage_id))
                    names = list(_shards.relative_paths(source, _selected(None)))
                except OSError as error:
                    problem = str(error)
            problem, names = self._distributed.broadcast_local((problem, names))
            if problem:
                raise FileNotFoundError(problem)
            wanted = self._wanted_here(names, selector)
            if source is not None:
                try:
                    _shards.copy_selected(source, ckpt_dir, lambda name: name in wanted)
                except OSError as error:
                    problem = str(error)
            if problem := self._distributed.broadcast_local(problem):
                raise FileNotFoundError(problem)

    def _wanted_here(self, names: list[str], selector: Selector | None) -> set[str]:
        """The files that any rank of this machine selects. All of them must call."""
        mine, failure, text = names, None, ""
        try:
            mine = [name for name in names if selector is None or selector(name)]
        except Exception as error:  # the other ranks wait for an answer
            failure, text = error, f"{type(error).__name__}: {error}"
        told = self._distributed.allgather_local((text, mine))
        if failure is not None:
            raise failure
        if problems := [text for text, _ in told if text]:
            raise RuntimeError(f"the selector of another rank failed with {'; '.join(problems)}")
        return {name for _, selected in told for name in selected}

    @contextlib.contextmanager
    def _files_of(self, storage_id: str) -> Iterator[str]:
        """A context manager with the directory of a checkpoint, or of a temporary copy."""
        place = self._storage.place(storage_id)
        if place is not None:
            if not pathlib.Path(place).is_dir():
                raise FileNotFoundError(f"checkpoint {storage_id} is not in storage: there is no {place}")
            self._storage.verify(storage_id)
            yield place
            return
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as whole:
            self._storage.restore(storage_id, whole)
            yield whole

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """Returns the metadata of a checkpoint, including what was added after it was saved."""
        if self._master is not None:
            answer = self._master.get(f"/api/v1/checkpoints/{storage_id}")
            return dict(answer["checkpoint"]["metadata"])
        _check_storage_id(storage_id)
        place = self._storage.place(storage_id)
        file = pathlib.Path(place or "") / "metadata.json"
        if place is None or not file.is_file():
            raise FileNotFoundError(f"checkpoint {storage_id} is not in storage")
        return dict(json.loads(file.read_text()))

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint from storage.

        Raises:
            BadRequestException: the trial would resume from it, or a model version refers to it.
        """
        if self._master is not None:
            self._master.delete("/api/v1/checkpoints", {"checkpointUuids": [storage_id]})
            return
        _check_storage_id(storage_id)
        place = self._storage.place(storage_id)
        if place is None or not pathlib.Path(place).is_dir():
            raise FileNotFoundError(f"checkpoint {storage_id} is not in storage")
        shutil.rmtree(place)


_MANIFEST = ".det-manifest.json"  # the storage's own


def _selected(selector: Selector | None) -> Selector:
    return lambda name: name != _MANIFEST and (selector is None or selector(name))


def _check_storage_id(storage_id: str) -> None:
    """Checks that the id names a directory of the storage, and nothing above or beside it."""
    if not isinstance(storage_id, str) or storage_id in ("", ".", "..") or "/" in storage_id:
        raise ValueError(f"{storage_id!r} is not a checkpoint's UUID; pass the one that saving the checkpoint returned")


def _checked(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """The chief's metadata, with ``steps_completed`` as an int."""
    plain = _plain(metadata)
    rule = "must be a whole number: how far the trial was trained"
    steps = _arguments.whole(plain.get("steps_completed"), "metadata['steps_completed']", rule, least=None)
    return {**plain, "steps_completed": steps}


def _plain(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the metadata as plain JSON values.

    Raises:
        TypeError: it is not a dict, or JSON cannot represent a value.
    """
    if metadata is not None and not isinstance(metadata, dict):
        raise TypeError(f"metadata is {metadata!r}; it must be a dict with the key 'steps_completed'")
    _metrics.to_json(metadata or {}, "metadata")
    plain = dict(metadata or {})
    if "steps_completed" in plain:
        with contextlib.suppress(ValueError):  # the chief's is checked, and any other compared with it
            plain["steps_completed"] = _arguments.whole(plain["steps_completed"], "steps_completed", least=None)
    return plain


@contextlib.contextmanager
def _reason(problems: list[str]) -> Iterator[None]:
    """Records an error, so that the other ranks can be told before all of them end."""
    try:
        yield
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
