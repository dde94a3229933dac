"""Data sets that are computed once and then read from LMDB, in an order that can be entered at any record.

A cache is a directory with ``data.mdb`` and ``meta.json``. It is written beside its place and moved there whole, under
a lock where the file system has locks: whoever sees it sees all of it. Every record carries a checksum.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import pathlib
import pickle
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import lmdb
import numpy as np

from determined._bucket import Bucket
from determined._tensorflow import _in_bucket
from determined._tensorflow._framework import tf, v1
from determined.common import check

logger = logging.getLogger("determined.data")

_FORMAT = 1
_MAP_BYTES = 1 << 40  # of addresses; the file is as large as its records
_RECORDS_PER_TRANSACTION = 1000


class CorruptCacheError(Exception):
    """A cached data set is not what was written; it is built again when the trial starts again."""


class Cache:
    """One cached data set, opened for reading."""

    def __init__(self, directory: pathlib.Path) -> None:
        try:
            meta = json.loads((directory / "meta.json").read_text())
            self.count = int(meta["records"])
            self.spec = _decoded(meta["spec"])
            if meta["format"] != _FORMAT or (directory / "data.mdb").stat().st_size != meta["bytes"]:
                raise CorruptCacheError(f"the cached data set {directory} is not the one that was written")
            self._environment: Any = lmdb.open(str(directory), readonly=True, lock=False, readahead=False)
            self._reading = self._environment.begin()
            if self._reading.stat()["entries"] != self.count:
                self.close()
                raise CorruptCacheError(f"the cached data set {directory} has lost records")
        except (OSError, ValueError, KeyError, TypeError, lmdb.Error) as error:
            raise CorruptCacheError(f"the cached data set {directory} cannot be read: {error}") from None
        self._directory = directory

    def record(self, number: int) -> Any:
        """One element, in the structure of the data set.

        Raises:
            CorruptCacheError: its checksum is wrong; the cache will be built again.
        """
        found = self._reading.get(number.to_bytes(8, "big"))
        if found is None or zlib.crc32(found[4:]) != int.from_bytes(found[:4], "big"):
            if _open_caches.pop(self._directory, None) is self:
                self.close()
            with contextlib.suppress(OSError):
                (self._directory / "meta.json").unlink()
            raise CorruptCacheError(
                f"record {number} of the cached data set {self._directory} is damaged; it will be built again when "
                "the trial starts again"
            )
        return tf.nest.pack_sequence_as(self.spec, pickle.loads(found[4:]))

    def close(self) -> None:
        self._reading.abort()
        self._environment.close()


_open_caches: dict[pathlib.Path, Cache] = {}
"""LMDB is opened once in a process."""


def opened(directory: pathlib.Path, make: Callable[[], Any], bucket: Bucket | None = None) -> Cache:
    """The cache of a directory; built from the data set that ``make`` gives where it is not there or is damaged.

    With a bucket the directory is a copy of what is there, and all machines use what the first of them wrote.
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
                logger.warning("%s; it is built again", error)
            aside = directory.with_name(f"{directory.name}.damaged-{uuid.uuid4().hex}")
            with contextlib.suppress(OSError):
                directory.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        if bucket is None or not _fetched(directory, bucket):
            _build(directory, make)
            if bucket is not None and not _in_bucket.publish(directory, bucket):
                shutil.rmtree(directory)  # another machine was faster, and all shall read the same
                if not _fetched(directory, bucket):
                    raise CorruptCacheError(f"the cached data set {bucket} cannot be read, and is another machine's")
        return _open_caches.setdefault(directory, Cache(directory))


def _fetched(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Whether the bucket had it, whole."""
    with _beside(directory) as building:
        if not _in_bucket.fetch(building, bucket):
            return False
        try:
            Cache(building).close()
        except CorruptCacheError as error:
            logger.warning("%s; it is built again, from %s", error, bucket)
            _in_bucket.retract(bucket)
            return False
        building.rename(directory)
    logger.info("fetched the cached data set %s", bucket)
    return True


@contextlib.contextmanager
def _beside(directory: pathlib.Path) -> Iterator[pathlib.Path]:
    """An empty directory to make a cache in; what is in it at the end goes."""
    for left in directory.parent.glob(f"{directory.name}.building-*"):
        shutil.rmtree(left, ignore_errors=True)  # of a process that was killed: the lock is ours
    building = directory.with_name(f"{directory.name}.building-{uuid.uuid4().hex}")
    building.mkdir()
    try:
        yield building
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _build(directory: pathlib.Path, make: Callable[[], Any]) -> None:
    with _beside(directory) as building:
        spec, count = _write(building, make)
        check.gt(count, 0, f"the records of the data set to be cached in {directory}")
        size = (building / "data.mdb").stat().st_size
        meta = {"format": _FORMAT, "records": count, "spec": _encoded(spec), "bytes": size}
        with (building / "meta.json").open("w") as file:
            json.dump(meta, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            building.rename(directory)
        except OSError:
            if not directory.exists():  # another machine was faster, where there are no locks
                raise
        logger.info("cached %d records in %s", count, directory)


def _write(directory: pathlib.Path, make: Callable[[], Any]) -> tuple[Any, int]:
    environment = lmdb.open(str(directory), map_size=_MAP_BYTES, sync=False)
    writing = environment.begin(write=True)
    count = 0
    try:
        with tf.Graph().as_default():
            dataset = make()
            check.is_instance(dataset, tf.data.Dataset, "the decorated function makes the data set to cache")
            spec = dataset.element_spec
            for leaf in tf.nest.flatten(spec):
                check.is_instance(leaf, tf.TensorSpec, "only data sets of dense tensors can be cached")
            iterator = v1.data.make_initializable_iterator(dataset)
            element = tf.nest.flatten(iterator.get_next())
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), v1.tables_initializer()])
                session.run(iterator.initializer)
                with contextlib.suppress(tf.errors.OutOfRangeError):
                    while True:
                        body = pickle.dumps(session.run(element), protocol=5)
                        writing.put(count.to_bytes(8, "big"), zlib.crc32(body).to_bytes(4, "big") + body, append=True)
                        count += 1
                        if count % _RECORDS_PER_TRANSACTION == 0:
                            writing.commit()
                            writing = environment.begin(write=True)
        writing.commit()
        environment.sync(True)
    finally:
        environment.close()
    return spec, count


class Reader:
    """A cached data set as one slot of a trial reads it.

    The order of an epoch follows from (seed, epoch) alone; each slot has a share of it. For training, epochs follow one
    another without end, and what the slots cannot share evenly is left out of each.
    """

    def __init__(
        self, cache: Cache, *, seed: int, rank: int, size: int, shuffle: bool, reshuffle: bool, training: bool
    ) -> None:
        self._cache = cache
        self._seed = seed
        self._rank = rank
        self._size = size
        self._shuffle = shuffle
        self._reshuffle = reshuffle
        self._training = training
        self.start = 0
        """The record of this slot's stream to begin with."""
        if training:
            check.gt_eq(cache.count, size, "the records of a cached data set, which every slot needs one of")

    def share(self, epoch: int) -> Any:
        """The numbers of this slot's records in an epoch."""
        count = self._cache.count
        order = np.arange(count)
        if self._shuffle:
            number = epoch if self._reshuffle else 0
            order = np.random.Generator(np.random.Philox(key=[self._seed, number])).permutation(count)
        mine = order[self._rank :: self._size]
        return mine[: count // self._size] if self._training else mine

    def __iter__(self) -> Iterator[Any]:
        if not self._training:
            for number in self.share(0):
                yield self._cache.record(int(number))
            return
        epoch, place = divmod(self.start, self._cache.count // self._size)
        while True:
            for number in self.share(epoch)[place:]:
                yield self._cache.record(int(number))
            epoch, place = epoch + 1, 0

    def dataset(self) -> Any:
        """A ``tf.data.Dataset`` over the records."""
        return tf.data.Dataset.from_generator(lambda: iter(self), output_signature=self._cache.spec)


def can_jump(dataset: Any, batch_size: int) -> bool:
    """Whether batch n of a data set over a ``Reader`` is made of the reader's records from n × ``batch_size`` on."""
    batched = False
    while True:
        while hasattr(dataset, "_dataset"):  # the form that the first generation's names give
            dataset = dataset._dataset
        name = type(dataset).__name__.lower().removeprefix("_")
        if "batch" in name and "unbatch" not in name:
            size = tf.get_static_value(getattr(dataset, "_batch_size", None))
            if batched or size is None or int(size) != batch_size:
                return False
            batched = True
        elif "flatmap" in name:
            return batched  # how a generator's data set is made
        elif not any(word in name for word in ("map", "prefetch", "options", "adapter")) or "group" in name:
            return False
        inputs = dataset._inputs()
        if len(inputs) != 1:
            return False
        dataset = inputs[0]


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
            logger.info("waiting for another process that builds %s", path.with_suffix(""))
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:  # no locks on this file system: moving the whole into place is what keeps it right
            yield
            return
        yield
