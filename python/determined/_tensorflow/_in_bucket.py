"""Cached data sets in a bucket: ``meta.json`` names the object that holds the records, and is written last.

Who writes at the same time writes an object of its own; the ``meta.json`` that stays decides.
"""

from __future__ import annotations

import json
import pathlib
import uuid
from typing import Any

from determined._bucket import Bucket

_NAMED = "object.json"  # beside a local copy: which object of the bucket it is


def _published(bucket: Bucket) -> dict[str, Any] | None:
    """What is said of the cache, with the object that holds the records; None where nothing is published."""
    try:
        meta = json.loads(bucket.text("meta.json"))
    except (FileNotFoundError, ValueError):
        return None
    return meta if isinstance(meta, dict) and isinstance(meta.get("object"), str) else None


def is_current(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Whether a local copy is what the bucket has. Where the bucket has nothing, it gets the copy."""
    meta = _published(bucket)
    if meta is None:
        return publish(directory, bucket)
    named = directory / _NAMED
    return named.is_file() and json.loads(named.read_text()).get("object") == meta["object"]


def fetch(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Fills an empty directory; False where the bucket has nothing."""
    meta = _published(bucket)
    if meta is None:
        return False
    try:
        bucket.get(meta["object"], directory / "data.mdb")
    except FileNotFoundError:
        retract(bucket)  # somebody deleted the records: they are built and published again
        return False
    (directory / _NAMED).write_text(json.dumps({"object": meta.pop("object")}))
    (directory / "meta.json").write_text(json.dumps(meta))
    return True


def publish(directory: pathlib.Path, bucket: Bucket) -> bool:
    """Stores a cache; False where another one is there by now, which is the one to use."""
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
    """Takes back what turned out to be damaged."""
    bucket.remove("meta.json")
