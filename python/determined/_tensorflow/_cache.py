"""Data sets that are computed once, then read from LMDB in any order of records.

A cache is a directory with ``data.mdb`` and ``meta.json``. It is written to a temporary directory and renamed, under a
lock if the file system has locks, so readers never see an incomplete cache. Every record has a checksum.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import pathlib
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import lmdb

from determined._bucket import Bucket
from determined._tensorflow import _in_bucket
from determined._tensorflow._framework import tf, v1
from determined._tensorflow._records import Layout
from determined._tensorflow._tuning import without_tuning
from determined.common import check

logger = logging.getLogger("determined.data")

_FORMAT = 2
_MAP_BYTES = 1 << 40  # of address space; the file is only as large as its records
_BATCH = 32
_BATCHES_PER_TRANSACTION = 32
_CHECKSUM_BYTES = 4


class CorruptCacheError(Exception):
    """A cached data set is damaged. It is rebuilt when the trial is restarted."""


class Cache:
    """One cached data set, opened for reading."""

    def __init__(self, directory: pathlib.Path) -> None:
        try:
            meta = json.loads((directory / "meta.json").read_text())
            if meta["format"] != _FORMAT:
                raise CorruptCacheError(f"the cached data set {directory} was written by another version")
            self.count = int(meta["records"])
            self.record_bytes = max(1, int(meta["bytes"]) // self.count)
            self.layout = Layout(_decoded(meta["spec"]))
            if (directory / "data.mdb").stat().st_size != meta["bytes"]:
                raise CorruptCacheError(f"the cached data set {directory} differs from what was written")
            self._environment: Any = lmdb.open(str(directory), readonly=True, lock=False, readahead=False)
            self._reading = self._environment.begin(buffers=True)
            if self._reading.stat()["entries"] != self.count:
                self.close()
                raise CorruptCacheError(f"the cached data set {directory} is missing records")
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError, lmdb.Error) as error:
            raise CorruptCacheError(f"the cached data set {directory} cannot be read: {error}") from None
        self._directory = directory

    def block(self, numbers: Iterable[int]) -> Any:
        """The records with these numbers, as ``Layout.decode`` returns them.

        Raises:
            CorruptCacheError: a record is missing or its checksum is wrong. The cache will be rebuilt.
        """
        read, checksum = self._reading.get, zlib.crc32
        records = []
        for number in numbers:
            found = read(int(number).to_bytes(8, "big"))
            if found is None or checksum(record := found[_CHECKSUM_BYTES:]) != int.from_bytes(
                found[:_CHECKSUM_BYTES], "big"
            ):
                raise self._damaged(int(number))
            records.append(record)
        return self.layout.decode(records)

    def _damaged(self, number: int) -> CorruptCacheError:
        if _open_caches.get(self._directory) is self:
            del _open_caches[self._directory]
            self.close()
        with contextlib.suppress(OSError):
            (self._directory / "meta.json").unlink()
        return CorruptCacheError(
            f"record {number} of the cached data set {self._directory} is damaged; it is rebuilt when the "
            "trial is restarted"
        )

    def close(self) -> None:
        self._reading.abort()
        self._environment.close()


_open_caches: dict[pathlib.Path, Cache] = {}
"""LMDB allows a process to open a directory only once."""


def opened(directory: pathlib.Path, make: Callable[[], Any], bucket: Bucket | None = None) -> Cache:
    """Opens the cache in a directory. If it is missing or damaged, builds it from the data set that ``make`` returns.

    With a bucket, the directory is a local copy of the cache in the bucket, which the first machine writes.

    Raises:
        CorruptCacheError: the cache in the bucket cannot be read.
    """
    directory = directory.absolute()
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_name(directory.name + ".lock")):
        if directory in _open_caches:
            return _open_caches[directory]
        if directory.exists():
            try:
                cache = Cache(directory)
                if bucket is None or _in_bucket.is_current(directory, bucket):
                    return _open_caches.setdefault(directory, cache)
                cache.close()
            except CorruptCacheError as error:
                logger.warning("%s; rebuilding it", error)
            aside = directory.with_name(f"{directory.name}.damaged-{uuid.uuid4().hex}")
            with contextlib.suppress(OSError):
                directory.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        if bucket is None or not _fetched(directory, bucket):
            _build(directory, make)
            if bucket is not None and not _in_bucket.publish(directory, bucket):
                shutil.rmtree(directory)  # another machine was faster; all machines use its cache
                if not _fetched(directory, bucket):
                    raise CorruptCacheError(
                        f"the cached data set {bucket}, which another machine wrote, cannot be read"
                    )
        return _open_caches.setdefault(directory, Cache(directory))


def _fetched(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Whether the bucket has an intact cache, which is now in ``directory``."""
    with _beside(directory) as building:
        if not _in_bucket.fetch(building, bucket):
            return False
        try:
            Cache(building).close()
        except CorruptCacheError as error:
            logger.warning("%s; rebuilding the cached data set %s", error, bucket)
            _in_bucket.retract(bucket)
            return False
        building.rename(directory)
    logger.info("fetched the cached data set %s", bucket)
    return True


@contextlib.contextmanager
def _beside(directory: pathlib.Path) -> Iterator[pathlib.Path]:
    """An empty temporary directory for building a cache; it is deleted at the end."""
    for left in directory.parent.glob(f"{directory.name}.building-*"):
        shutil.rmtree(left, ignore_errors=True)  # left by a process that was killed; this process has the lock
    building = directory.with_name(f"{directory.name}.building-{uuid.uuid4().hex}")
    building.mkdir()
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _build(directory: pathlib.Path, make: Callable[[], Any]) -> None:
    with _beside(directory) as building:
        spec, count = _write(building, make)
        check.gt(count, 0, f"the number of records to cache in {directory}")
        size = (building / "data.mdb").stat().st_size
        meta = {"format": _FORMAT, "records": count, "spec": _encoded(spec), "bytes": size}
        with (building / "meta.json").open("w") as file:
            json.dump(meta, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            building.rename(directory)
        except OSError:
            if not directory.exists():  # without locks, another machine may have been faster
                raise
        logger.info("cached %d records in %s", count, directory)


def _write(directory: pathlib.Path, make: Callable[[], Any]) -> tuple[Any, int]:
    environment = lmdb.open(str(directory), map_size=_MAP_BYTES, sync=False)
    count = 0
    try:
        with tf.Graph().as_default():
            dataset = make()
            check.is_instance(dataset, tf.data.Dataset, "the decorated function must return the data set to cache")
            layout = Layout(dataset.element_spec)
            iterator = v1.data.make_initializable_iterator(without_tuning(layout.prepared(dataset, _BATCH)))
            batch = iterator.get_next()
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                session.run(iterator.initializer)
                more = True
                while more:
                    with environment.begin(write=True) as writing:
                        try:
                            for _ in range(_BATCHES_PER_TRANSACTION):
                                for body in layout.encode(session.run(batch)):
                                    checksum = zlib.crc32(body).to_bytes(_CHECKSUM_BYTES, "big")
                                    writing.put(count.to_bytes(8, "big"), checksum + body, append=True)
                                    count += 1
                        except tf.errors.OutOfRangeError:
                            more = False
        environment.sync(True)
    finally:
        environment.close()
    return layout.spec, count


def _encoded(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {"dict": {name: _encoded(one) for name, one in spec.items()}}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_encoded(one) for one in spec]}
    return {"dtype": spec.dtype.name, "shape": None if spec.shape.rank is None else spec.shape.as_list()}


def _decoded(text: Any) -> Any:
    if "dict" in text:
        return {name: _decoded(one) for name, one in text["dict"].items()}
    if "tuple" in text:
        return tuple(_decoded(one) for one in text["tuple"])
    return tf.TensorSpec(text["shape"], tf.dtypes.as_dtype(text["dtype"]))


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.info("waiting for another process to build %s", path.with_suffix(""))
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # this file system has no locks; the atomic rename is enough
            yield
            return
        yield
