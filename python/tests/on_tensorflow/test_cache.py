"""Cached data sets: written once, read in an order that can be entered anywhere, built again where damaged."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pathlib
import shutil
from typing import Any

import numpy as np
import object_servers
import pytest
import tensorflow as tf
from estimator_trials import PremadeTrial, rows
from runs import assert_same_end, begun, interrupted, run
from test_estimator import variables

from determined._bucket import Bucket
from determined._tensorflow import _cache, _data_layer, _reader
from determined.common.check import CheckFailedError
from determined.errors import InvalidConfigurationException

CALLS: list[str] = []


def make(count: int = 10) -> Any:
    CALLS.append("made")
    return tf.data.Dataset.from_tensor_slices(({"x": np.arange(count), "y": [b"text"] * count}, np.ones((count, 2))))


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def reader(cache: _cache.Cache, **options: Any) -> _reader.Reader:
    settings = {"seed": 3, "rank": 0, "size": 1, "shuffle": True, "reshuffle": True, "training": True, **options}
    return _reader.Reader(cache, **settings)


def elements(dataset: Any, count: int) -> list[Any]:
    """The first elements of what is made inside a graph."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        following = tf.compat.v1.data.make_one_shot_iterator(dataset()).get_next()
        return [session.run(following) for _ in range(count)]


def taken(it: _reader.Reader, count: int) -> list[int]:
    return [int(element[0]["x"]) for element in elements(it.dataset, count)]


def test_a_data_set_is_made_once_and_read_as_it_was(tmp_path: pathlib.Path) -> None:
    first = _cache.opened(tmp_path / "id" / "v1_train", make)
    count = first.count
    _cache._open_caches.clear()
    first.close()
    second = _cache.opened(tmp_path / "id" / "v1_train", make)
    assert CALLS == ["made"] and count == second.count == 10
    assert _cache.opened(tmp_path / "id" / "v1_train", make) is second
    features, label = elements(reader(second, shuffle=False).dataset, 5)[-1]
    assert features["x"] == 4 and features["y"] == b"text" and label.tolist() == [1.0, 1.0]
    assert sorted(path.name for path in (tmp_path / "id").iterdir()) == ["v1_train", "v1_train.lock"]


def _of_every_kind() -> Any:
    def of(number: Any) -> Any:
        some = tf.range(number)
        return {
            "fixed": tf.fill([2, 3], tf.cast(number, tf.float16)),
            "ragged": tf.fill([number, 2], number),
            "texts": tf.strings.as_string(some),
            "text": tf.strings.as_string(number),
            "flag": number > 1,
            "other": tf.cast(number, tf.bfloat16),
            "none": tf.zeros((0, 4)),
        }

    return tf.data.Dataset.range(70).map(lambda number: (of(tf.cast(number, tf.int32)), number))


def test_records_of_every_kind_come_back_as_they_were(tmp_path: pathlib.Path) -> None:
    cache = _cache.opened(tmp_path / "cache", _of_every_kind)
    it = reader(cache, shuffle=False)
    expected, found = elements(_of_every_kind, 70), elements(it.dataset, 70)
    for left, right in zip(expected, found, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, left, right)
        assert [type(one) for one in tf.nest.flatten(left)] == [type(one) for one in tf.nest.flatten(right)]
    with tf.Graph().as_default():
        assert it.dataset().element_spec == _of_every_kind().element_spec


def test_a_block_has_many_small_records_and_few_large_ones(tmp_path: pathlib.Path) -> None:
    small = _cache.opened(tmp_path / "small", lambda: tf.data.Dataset.range(600))
    assert [len(block) for block in reader(small, training=False).blocks()] == [256, 256, 88]
    large = _cache.opened(tmp_path / "large", lambda: tf.data.Dataset.range(5).map(lambda _: tf.zeros(100_000)))
    assert [len(block) for block in reader(large, training=False).blocks()] == [2, 2, 1]


def test_a_cache_of_an_earlier_version_is_built_again(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "cache"
    _cache.opened(place, make)
    _cache._open_caches.pop(place).close()
    meta = place / "meta.json"
    meta.write_text(meta.read_text().replace(f'"format": {_cache._FORMAT}', '"format": 1'))
    assert _cache.opened(place, make).count == 10 and CALLS == ["made", "made"]


def test_every_epoch_has_its_order_and_can_be_entered_at_any_record(tmp_path: pathlib.Path) -> None:
    cache = _cache.opened(tmp_path / "cache", make)
    stream = taken(reader(cache), 25)
    assert sorted(stream[:10]) == sorted(stream[10:20]) == list(range(10)) and stream[:10] != stream[10:20]
    assert taken(reader(cache, seed=4), 10) != stream[:10]
    same = taken(reader(cache, reshuffle=False), 20)
    assert same[:10] == same[10:] and taken(reader(cache, shuffle=False), 12) == [*range(10), 0, 1]
    for start in (1, 9, 10, 17):
        later = reader(cache)
        later.start = start
        assert taken(later, 5) == stream[start : start + 5]


def test_slots_share_the_records(tmp_path: pathlib.Path) -> None:
    cache = _cache.opened(tmp_path / "cache", make)
    train = [reader(cache, rank=rank, size=3).share(0).tolist() for rank in range(3)]
    assert [len(one) for one in train] == [3, 3, 3] and len(set().union(*train)) == 9  # the rest is left out
    val = [reader(cache, rank=rank, size=3, training=False).share(0).tolist() for rank in range(3)]
    assert sorted(itertools.chain(*val)) == list(range(10))
    with pytest.raises(CheckFailedError, match="at least one record per slot"):
        reader(cache, size=11)


def _open(path: str) -> tuple[int, int, int]:
    return os.getpid(), _cache.opened(pathlib.Path(path), make).count, len(CALLS)


def test_writers_that_start_at_once_write_once(tmp_path: pathlib.Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_open, [str(tmp_path / "cache")] * 3, chunksize=1)
    assert [count for _, count, _ in found] == [10, 10, 10]
    assert sum({process: made for process, _, made in found}.values()) == 1


@pytest.mark.parametrize("damage", ["meta", "cut", "missing", "half"])
def test_a_damaged_cache_is_built_again(damage: str, tmp_path: pathlib.Path) -> None:
    place = tmp_path / "cache"
    _cache.opened(place, make)
    _cache._open_caches.pop(place).close()  # what comes next is another process
    if damage == "meta":
        (place / "meta.json").write_text("{")
    elif damage == "cut":
        (place / "data.mdb").write_bytes((place / "data.mdb").read_bytes()[:-4096])
    elif damage == "missing":
        (place / "data.mdb").unlink()
    else:  # a builder that was killed
        shutil.move(place, tmp_path / "cache.building-1")
    assert _cache.opened(place, make).count == 10
    assert CALLS == ["made", "made"] and sorted(p.name for p in tmp_path.iterdir()) == ["cache", "cache.lock"]


def test_a_damaged_record_is_noticed_and_the_next_start_builds_again(tmp_path: pathlib.Path) -> None:
    place = tmp_path / "cache"
    _cache.opened(place, lambda: tf.data.Dataset.from_tensors(b"needle" * 20))
    content = (place / "data.mdb").read_bytes()
    (place / "data.mdb").write_bytes(content.replace(b"needle", b"noodle"))
    damaged = _cache.opened(place, make)
    with pytest.raises(_cache.CorruptCacheError, match=r"record 0 .* is damaged"):
        damaged.block([0])
    rebuilt = _cache.opened(place, lambda: tf.data.Dataset.from_tensors(b"needle" * 20))
    assert rebuilt.block([0]).tolist() == [b"needle" * 20]


def test_where_caches_are_follows_from_the_configuration(tmp_path: pathlib.Path) -> None:
    section = {"type": "shared_fs", "host_storage_path": str(tmp_path)}
    assert _data_layer.place({"data_layer": section}) == (tmp_path, None)
    assert _data_layer.place({}) == (pathlib.Path("~/data/determined").expanduser(), None)
    with pytest.raises(AssertionError, match="'nfs'; it must be one of shared_fs, s3, gcs"):
        _data_layer.place({"data_layer": {"type": "nfs"}})
    with pytest.raises(InvalidConfigurationException, match=r"data_layer\.bucket is None; it must be a non-empty name"):
        _data_layer.place({"data_layer": {"type": "s3"}})
    section = {"type": "gcs", "bucket": "b", "bucket_directory_path": "/sets/", "local_cache_host_path": "/local"}
    directory, bucket = _data_layer.place({"data_layer": section})
    assert directory == pathlib.Path("/local/gcs/b/sets") and str(bucket) == "gs://b/sets"


def test_a_machine_reads_what_another_put_into_the_bucket(tmp_path: pathlib.Path) -> None:
    with object_servers.gcs() as section:
        bucket = Bucket(section, "sets/id/v1_train")
        _cache.opened(tmp_path / "one" / "v1", make, bucket)
        assert {name.split("-")[0] for name in bucket.sizes()} == {"meta.json", "data"}
        other = _cache.opened(tmp_path / "two" / "v1", lambda: make(99), bucket)
        assert CALLS == ["made"] and other.count == 10
        _cache._open_caches.clear()
        again = _cache.opened(tmp_path / "two" / "v1", make, bucket)
        assert CALLS == ["made"] and again.count == 10, "the local copy is current"


def test_a_bucket_that_was_emptied_is_filled_again_and_one_that_was_replaced_is_read_again(
    tmp_path: pathlib.Path,
) -> None:
    with object_servers.gcs() as section:
        bucket = Bucket(section, "sets")
        _cache.opened(tmp_path / "one" / "v1", make, bucket).close()
        _cache._open_caches.clear()
        for name in bucket.sizes():
            bucket.remove(name)
        _cache.opened(tmp_path / "one" / "v1", make, bucket).close()
        assert CALLS == ["made"] and len(bucket.sizes()) == 2, "by the copy that is here"
        _cache._open_caches.clear()
        bucket.remove("meta.json")
        _cache.opened(tmp_path / "two" / "v1", lambda: make(7), bucket).close()
        _cache._open_caches.clear()
        assert _cache.opened(tmp_path / "one" / "v1", make, bucket).count == 7


def test_records_that_were_damaged_in_the_bucket_are_built_and_published_again(tmp_path: pathlib.Path) -> None:
    with object_servers.gcs() as section:
        bucket = Bucket(section, "sets")
        _cache.opened(tmp_path / "one" / "v1", make, bucket).close()
        (tmp_path / "junk").write_text("junk")
        (data,) = (name for name in bucket.sizes() if name.startswith("data-"))
        bucket.put(data, tmp_path / "junk")
        assert _cache.opened(tmp_path / "two" / "v1", make, bucket).count == 10
        assert CALLS == ["made", "made"]
        assert _cache.opened(tmp_path / "three" / "v1", make, bucket).count == 10
        assert CALLS == ["made", "made"]


class CachedTrial(PremadeTrial):
    """Reads its data from caches."""

    after: Any = staticmethod(lambda dataset: dataset)

    def input(self, kind: str) -> Any:
        experimental = self.context.experimental
        if kind == "train":
            decorate = experimental.cache_train_dataset("numbers", "v1", shuffle=True)
        else:
            decorate = experimental.cache_validation_dataset("numbers", "v1")

        @decorate
        def data(count: int) -> Any:
            x, y = rows(1, count)
            return tf.data.Dataset.from_tensor_slices(({"x": x}, y))

        return self.after(data(22)).batch(self.context.get_per_slot_batch_size())

    def build_train_spec(self) -> Any:
        return tf.estimator.TrainSpec(lambda: self.input("train"))

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(lambda: self.input("val"), steps=None)


class AugmentedTrial(CachedTrial):
    after: Any = staticmethod(lambda data: data.map(lambda f, y: ({"x": f["x"] + tf.compat.v1.random.uniform([6])}, y)))


@pytest.mark.parametrize(("kind", "jumps"), [(CachedTrial, True), (AugmentedTrial, False)])
def test_a_trial_on_cached_data_that_gave_way_ends_with_the_same_bits(
    kind: Any, jumps: bool, tmp_path: pathlib.Path
) -> None:
    layer = {"data_layer": {"type": "shared_fs", "host_storage_path": str(tmp_path / "caches")}}
    straight = run(kind, tmp_path, config=layer)
    later = interrupted(kind, tmp_path, [8], config=layer)
    assert_same_end(straight, later, variables)
    assert (later.context.experimental._training.start > 0) is jumps  # type: ignore[attr-defined]
    assert {path.name for path in (tmp_path / "caches" / "numbers").glob("*_*") if path.is_dir()} == {
        "v1_train",
        "v1_val",
    }


def test_caching_and_wrapping_exclude_each_other(tmp_path: pathlib.Path) -> None:
    class Both(CachedTrial):
        after: Any = None

        def build_train_spec(self) -> Any:
            self.after = self.context.wrap_dataset
            return super().build_train_spec()

    layer = {"data_layer": {"type": "shared_fs", "host_storage_path": str(tmp_path / "caches")}}
    with pytest.raises(CheckFailedError, match=r"both wrap_dataset\(\) and cache_train_dataset\(\)"):
        begun(Both, tmp_path, config=layer)
