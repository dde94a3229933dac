"""Checkpoints, event files and other objects in buckets, against servers that speak the services' own APIs."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import object_servers
import pytest

from determined import _runtime
from determined._bucket import Bucket
from determined.tensorboard import _board


@pytest.fixture(scope="module", params=["s3", "gcs"])
def section(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    with object_servers.SERVERS[request.param]() as found:
        yield found


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "source"
    (directory / "code" / "empty").mkdir(parents=True)
    (directory / "code" / "__init__.py").write_text("")
    (directory / "code" / "model_def.py").write_text("print()")
    (directory / "weights of ä+b=c.pth").write_bytes(os.urandom(3_000_000))
    return directory


def storage(section: Mapping[str, Any], **more: Any) -> Any:
    return _runtime.CheckpointStorage.from_config_json(json.dumps({**section, **more}), "")


def files(directory: pathlib.Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in directory.rglob("*")
    }


def test_a_checkpoint_comes_back_as_it_was_whatever_its_names(
    section: dict[str, Any], source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    place = storage(section, prefix="/team/a b+ü/")
    place.probe()
    uuid = _runtime.new_uuid()
    resources = place.save(str(source), uuid)
    assert resources["code/model_def.py"] == 7 and resources["code/empty/"] == 0
    assert place.place(uuid) is None, "there is no place to read in"
    place.restore(uuid, str(tmp_path / "back"))
    assert files(tmp_path / "back") == files(source)
    below = Bucket(section, f"team/a b+ü/{uuid}").sizes()
    assert set(below) == {".det-manifest.json", *(name for name in resources if not name.endswith("/"))}
    place.remove(uuid)
    place.remove(uuid)
    assert Bucket(section).sizes() == {}
    with pytest.raises(FileNotFoundError, match=f"{uuid}: checkpoint not found in (s3|gs)://models/team/"):
        place.restore(uuid, str(tmp_path / "again"))


def test_a_save_sends_what_has_changed_since_the_last_one(tmp_path: pathlib.Path) -> None:
    backbone, head = os.urandom(30_000_000), os.urandom(1_000_000)
    directory = tmp_path / "source"
    directory.mkdir()
    with object_servers.s3() as section:
        relay = object_servers.Relay(section["endpoint_url"])
        place = storage(section, endpoint_url=relay.url)

        def save(content: bytes) -> tuple[str, int]:
            (directory / "state_dict.pth").write_bytes(content)
            uuid, before = _runtime.new_uuid(), relay.sent
            place.save(str(directory), uuid)
            return uuid, relay.sent - before

        first, sent = save(backbone + head)
        assert sent > 31_000_000
        second, sent = save(backbone + head[::-1])
        assert 4_000_000 < sent < 6_000_000, "the last part of five MiB, which has the head in it"
        unchanged, sent = save(backbone + head[::-1])
        assert sent < 20_000
        place.remove(first)
        place.remove(unchanged)
        place.restore(second, str(tmp_path / "back"))
        assert (tmp_path / "back" / "state_dict.pth").read_bytes() == backbone + head[::-1]
        third, sent = save(backbone + head)
        assert sent > 31_000_000, "what it could copy from is gone"
        place.verify(third)
        relay.close()


def test_a_file_that_was_changed_in_the_bucket_is_named(
    section: dict[str, Any], source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    place = storage(section)
    uuid = _runtime.new_uuid()
    place.save(str(source), uuid)
    (tmp_path / "other").write_text("sprint()")
    Bucket(section).put(f"{uuid}/code/model_def.py", tmp_path / "other")
    with pytest.raises(Exception, match=r"code/model_def.py is damaged: it has 8 bytes instead of 7"):
        place.restore(uuid, str(tmp_path / "back"))
    assert not (tmp_path / "back").exists()
    place.remove(uuid)


def test_objects_are_listed_over_many_pages_and_mirrored(section: dict[str, Any], tmp_path: pathlib.Path) -> None:
    bucket = Bucket(section, "many")
    (tmp_path / "one").write_text("1")
    names = [f"{number:04}" for number in range(1005 if section["type"] == "s3" else 5)]  # a page of S3 has a thousand
    with concurrent.futures.ThreadPoolExecutor(8) as several:
        list(several.map(lambda name: bucket.put(name, tmp_path / "one"), names))
    assert list(bucket.sizes()) == names
    small = bucket / "deeper"
    small.put("a/b", tmp_path / "one")
    assert (small.mirror(tmp_path / "copy"), small.mirror(tmp_path / "copy")) == (1, 0)
    assert (tmp_path / "copy" / "a" / "b").read_text() == "1"
    with concurrent.futures.ThreadPoolExecutor(8) as several:
        list(several.map(bucket.remove, bucket.sizes()))


def test_event_files_are_kept_in_the_bucket(section: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_board, "_base", None)
    board = _board.Board(_board.storage_place(section), "cluster", 7, 12)
    board.training(100, {"loss": 0.5})
    board.validation(100, {"loss": 0.4})
    board.close()
    kept = Bucket(section, "cluster/tensorboard/experiment/7/trial/12").sizes()
    assert [name for name in kept if "tfevents" in name] and all(size > 0 for size in kept.values())


def test_errors_of_a_bucket_are_passed_on(source: pathlib.Path) -> None:
    with object_servers.s3() as section:
        with pytest.raises(PermissionError, match="SignatureDoesNotMatch"):
            storage(section, secret_key="wrong").probe()
        with pytest.raises(PermissionError, match="InvalidAccessKeyId"):
            storage(section, access_key="AKIAUNKNOWN").probe()
        with pytest.raises(FileNotFoundError, match=r"cannot write s3://nowhere/\.probe-.*NoSuchBucket"):
            storage(section, bucket="nowhere").probe()
    with pytest.raises(OSError, match=r"no response from http://127\.0\.0\.1:9/models/"):
        storage({**section, "endpoint_url": "http://127.0.0.1:9"}).probe()


def test_keys_that_the_master_has_hidden_are_taken_from_the_environment(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_servers.s3() as section:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", section["access_key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", section["secret_key"])
        hidden = Bucket({**section, "access_key": "********", "secret_key": "********"})
        (tmp_path / "file").write_text("x" * 5)
        hidden.put("name", tmp_path / "file")
        assert hidden.sizes() == {"name": 5}
