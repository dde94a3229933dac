"""``cache_train_dataset`` and ``cache_validation_dataset`` of Estimator and Keras contexts."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from determined._bucket import Bucket
from determined._tensorflow import _cache, _reader
from determined._tensorflow._random import seeds
from determined.common import check
from determined.errors import InvalidConfigurationException

_TYPES = ("shared_fs", "s3", "gcs")


class CachingContext:
    """The part of ``context.experimental`` that caches data sets."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._training: _reader.Reader | None = None

    @property
    def training_cached(self) -> bool:
        return self._training is not None

    def cache_train_dataset(
        self, dataset_id: str, dataset_version: str, shuffle: bool = False, skip_shuffle_at_epoch_end: bool = False
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator for the function that returns the training data set.

        The data set is stored under its id and version when it is first used; after that, the function is not called.
        With ``shuffle``, the trial's seed determines the order of the records, which differs in every epoch unless
        ``skip_shuffle_at_epoch_end`` is set. Each slot reads its share. Batch, augment and shuffle the result as you
        like, but do not repeat it. A resumed trial starts reading at its position, unless later steps shuffle, filter
        or draw random numbers: then it runs the input up to its position.

        Example::

            @self.context.experimental.cache_train_dataset("digits", "v1", shuffle=True)
            def make_dataset():
                return tf.data.Dataset.from_tensor_slices(load())

            return make_dataset().batch(self.context.get_per_slot_batch_size())
        """
        where, bucket = self._place(dataset_id, dataset_version, "train")

        def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
            def cached(*args: Any, **options: Any) -> Any:
                check.is_none(self._training, "cache_train_dataset() may be called only once")
                if getattr(self._context, "dataset_wrapped", False):
                    check.fail(
                        "both wrap_dataset() and cache_train_dataset()",
                        "one of them",
                        "the cache shards its own data",
                    )
                self._training = self._reader(
                    where, bucket, lambda: make(*args, **options), shuffle, not skip_shuffle_at_epoch_end, training=True
                )
                seeds.drawn_in_data = False
                return self._training.dataset()

            return cached

        return decorate

    def cache_validation_dataset(
        self, dataset_id: str, dataset_version: str, shuffle: bool = False
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """As ``cache_train_dataset``, for the validation data set. Every validation reads it in the same order."""
        where, bucket = self._place(dataset_id, dataset_version, "val")

        def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
            def cached(*args: Any, **options: Any) -> Any:
                reader = self._reader(where, bucket, lambda: make(*args, **options), shuffle, False, training=False)
                return reader.dataset()

            return cached

        return decorate

    def _reader(
        self,
        where: pathlib.Path,
        bucket: Bucket | None,
        make: Callable[[], Any],
        shuffle: bool,
        reshuffle: bool,
        *,
        training: bool,
    ) -> _reader.Reader:
        ranks = self._context.distributed
        with seeds.suspended():
            cache = _cache.opened(where, make, bucket)
        return _reader.Reader(
            cache,
            seed=self._context.env.trial_seed,
            rank=ranks.rank,
            size=ranks.size,
            shuffle=shuffle,
            reshuffle=reshuffle,
            training=training,
        )

    def enter(self, dataset: Any, trained: int) -> bool:
        """Makes a cached data set start after ``trained`` batches; False if it must be run up to there instead."""
        if self._training is None:
            return False
        batch = self._context.get_per_slot_batch_size()
        if seeds.drawn_in_data or not _reader.can_jump(dataset, batch):
            self._training.start = 0
            return False
        self._training.start = trained * batch
        return True

    def _place(self, dataset_id: str, dataset_version: str, kind: str) -> tuple[pathlib.Path, Bucket | None]:
        for name, value in (("dataset_id", dataset_id), ("dataset_version", dataset_version)):
            if not isinstance(value, str) or not value or "/" in value or value in (".", ".."):
                check.fail(f"{name} {value!r}", "a string that is a valid directory name")
        directory, bucket = place(self._context.get_experiment_config())
        name = f"{dataset_version}_{kind}"
        return directory / dataset_id / name, bucket / f"{dataset_id}/{name}" if bucket is not None else None


def place(config: Mapping[str, Any]) -> tuple[pathlib.Path, Bucket | None]:
    """Where cached data sets are stored, by ``data_layer`` of an experiment configuration: a directory of this machine
    and, if it is a local copy of a bucket, the bucket.

    Raises:
        AssertionError: ``data_layer.type`` is unknown.
        InvalidConfigurationException: another field of the section is invalid.
    """
    section = config.get("data_layer") or {"type": "shared_fs"}
    kind = section.get("type", "shared_fs")
    if kind not in _TYPES:
        raise AssertionError(f"data_layer.type is {kind!r}; it must be one of {', '.join(_TYPES)}")
    if kind == "shared_fs":
        return _absolute(section, "host_storage_path", "~/data/determined"), None
    for name in ("bucket", "bucket_directory_path"):
        if not isinstance(section.get(name), str) or not section[name]:
            raise InvalidConfigurationException(
                section, f"data_layer.{name} is {section.get(name)!r}; it must be a non-empty name"
            )
    directory = _absolute(section, "local_cache_host_path", "~/.cache/determined/data")
    bucket = Bucket({**section, "prefix": ""}, section["bucket_directory_path"].strip("/"))
    return directory / kind / section["bucket"] / section["bucket_directory_path"].strip("/"), bucket


def _absolute(section: Mapping[str, Any], name: str, otherwise: str) -> pathlib.Path:
    path = section.get(name) or os.path.expanduser(otherwise)
    if not os.path.isabs(path):
        raise InvalidConfigurationException(section, f"data_layer.{name} is {path!r}; it must be an absolute path")
    return pathlib.Path(path)
