"""Cached data sets in a bucket: ``meta.json`` names the object with the records, and is written last.

Concurrent writers write different objects; the ``meta.json`` that is written last decides which one is used.
"""

from __future__ import annotations

import json
import pathlib
import uuid
from typing import Any

from determined._bucket import Bucket

_NAMED = "object.json"  # in a local copy: the name of its object in the bucket


def _published(bucket: Bucket) -> dict[str, Any] | None:
    """The contents of ``meta.json`` in the bucket, with the name of the object; None if nothing is published."""
    try:
        meta = json.loads(bucket.text("meta.json"))
    except (FileNotFoundError, ValueError):
        return None
    return meta if isinstance(meta, dict) and isinstance(meta.get("object"), str) else None


def is_current(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Whether a local copy is the same as the cache in the bucket. If the bucket has none, uploads the copy."""
    meta = _published(bucket)
    if meta is None:
        return publish(directory, bucket)
    named = directory / _NAMED
    return named.is_file() and json.loads(named.read_text()).get("object") == meta["object"]


def fetch(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Downloads the cache into an empty directory. Returns False if the bucket has none."""
    meta = _published(bucket)
    if meta is None:
        return False
    try:
        bucket.get(meta["object"], directory / "data.mdb")
    except FileNotFoundError:
        retract(bucket)  # the records were deleted: build and publish them again
        return False
    (directory / _NAMED).write_text(json.dumps({"object": meta.pop("object")}))
    (directory / "meta.json").write_text(json.dumps(meta))
    return True


def publish(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Uploads a cache. Returns False if another machine has published one in the meantime: use that one."""
    name = f"data-{uuid.uuid4().hex}.mdb"
    bucket.put(name, directory / "data.mdb")
    if _published(bucket) is None:
        said = {**json.loads((directory / "meta.json").read_text()), "object": name}
        draft = directory / "meta.json.bucket"
        draft.write_text(json.dumps(said))
        bucket.put("meta.json", draft)
        draft.unlink()
    meta = _published(bucket)
    if meta is None or meta["object"] != name:
        bucket.remove(name)
        return False
    (directory / _NAMED).write_text(json.dumps({"object": name}))
    return True


def retract(bucket: Bucket) -> None:
    """Unpublishes a damaged cache."""
    bucket.remove("meta.json")
