"""Buckets of S3 and Google Cloud Storage, configured by a section of a configuration."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

TYPES = ("s3", "gcs")


class Bucket:
    """The objects of a bucket below a prefix. Names are relative to the prefix.

    Raises, in all methods:
        OSError: the service does not answer or denies access, or the object does not exist.
    """

    def __init__(self, section: Mapping[str, Any], below: str = "") -> None:
        from determined import _runtime

        self._section = dict(section)
        self._below = "/".join(part for part in (str(section.get("prefix") or "").strip("/"), below) if part)
        self._store = _runtime.ObjectStore.from_config_json(json.dumps(self._section))

    def __truediv__(self, name: str) -> Bucket:
        return Bucket({**self._section, "prefix": ""}, f"{self._below}/{name}" if self._below else name)

    def __str__(self) -> str:
        scheme = "s3" if self._section["type"] == "s3" else "gs"
        return f"{scheme}://{self._section['bucket']}/{self._below}"

    def _key(self, name: str) -> str:
        return f"{self._below}/{name}" if self._below else name

    def put(self, name: str, file: str | os.PathLike[str]) -> None:
        self._store.put(self._key(name), os.fspath(file))

    def get(self, name: str, file: str | os.PathLike[str]) -> None:
        """Downloads an object. The file is replaced once the download is complete."""
        self._store.get(self._key(name), os.fspath(file))

    def text(self, name: str) -> bytes:
        return self._store.text(self._key(name))

    def sizes(self) -> dict[str, int]:
        """Returns the size in bytes of every object below the prefix, by name."""
        start = self._key("")
        return {key[len(start) :]: size for key, size in self._store.sizes(start).items()}

    def remove(self, name: str) -> None:
        self._store.remove(self._key(name))

    def mirror(self, directory: pathlib.Path) -> int:
        """Downloads the files that are missing in a directory or differ in size; returns their number."""
        fetched = 0
        for name, size in self.sizes().items():
            target = directory / name
            if not target.resolve().is_relative_to(directory.resolve()) or name.endswith("/"):
                continue
            if target.is_file() and target.stat().st_size == size:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            self.get(name, target)
            fetched += 1
        return fetched


def bucket_of(section: Mapping[str, Any]) -> Bucket | None:
    """Returns the bucket of a section such as ``checkpoint_storage``; None if its type is not a bucket."""
    return Bucket(section) if section.get("type") in TYPES else None
