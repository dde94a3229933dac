"""A version of a model of the registry."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined.common.api import Session
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._metrics import TrialMetrics, report_of
from determined.experimental._resource import Resource, joined, path_of, time_of


class ModelVersion(Resource):
    """One version of a model: a checkpoint that garbage collection never deletes.

    ``model_version`` is its number, from 1; ``checkpoint`` the :class:`Checkpoint`.
    """

    def __init__(self, session: Session, model_version: int, model_name: str) -> None:
        self._session = session
        self.model_version = model_version
        self.model_name = model_name

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> ModelVersion:
        return cls(session, answer["version"], answer["model"]["name"])._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.model_name = answer["model"]["name"]
        self.model_id: int = answer["model"]["id"]
        self.name: str = answer.get("name") or ""
        self.comment: str = answer.get("comment") or ""
        self.notes: str = answer.get("notes") or ""
        self.labels: list[str] = list(answer.get("labels") or [])
        self.metadata: dict[str, Any] = answer.get("metadata") or {}
        self.creation_time: datetime.datetime | None = time_of(answer.get("creationTime"))
        self.last_updated_time: datetime.datetime | None = time_of(answer.get("lastUpdatedTime"))
        self.username: str = answer.get("username") or ""
        self.checkpoint = Checkpoint._of(self._session, answer["checkpoint"])
        self.checkpoint.model_name = self.model_name
        self.checkpoint.model_version = self.model_version

    @property
    def uuid(self) -> str:
        """Of the checkpoint."""
        return self.checkpoint.uuid

    def __repr__(self) -> str:
        checkpoint = f", checkpoint={self.uuid}" if self._is_read else ""
        return f"ModelVersion(model={self.model_name!r}, version={self.model_version}{checkpoint})"

    def download(self, path: str | None = None) -> str:
        """See :meth:`Checkpoint.download`."""
        return self.checkpoint.download(path)

    def load(self, path: str | None = None, tags: list[str] | None = None, **kwargs: Any) -> Any:
        """See :meth:`Checkpoint.load`."""
        return self.checkpoint.load(path, tags, **kwargs)

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Iterates over the reports of trials that evaluate this version or start from it; of one group, or of all."""
        for row in self._session.get(f"{self._path()}/metrics", {"metricGroup": group})["metrics"]:
            yield report_of(row)

    get_metrics = iter_metrics

    def set_name(self, name: str) -> None:
        self._patch(name=name)

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def set_comment(self, comment: str) -> None:
        self._patch(comment=comment)

    def set_labels(self, labels: Sequence[str]) -> None:
        self._patch(labels=list(labels))

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        self._patch(metadata=joined(self.metadata, metadata))

    def remove_metadata(self, keys: Iterable[str]) -> None:
        gone = set(keys)
        self._patch(metadata={name: value for name, value in self.metadata.items() if name not in gone})

    def delete(self) -> None:
        """Deletes the version. The checkpoint stays, but garbage collection may delete it."""
        self._session.delete(self._path())

    def reload(self) -> None:
        self._take(self._session.get(self._path())["modelVersion"])

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(self._path(), changes)["modelVersion"])

    def _path(self) -> str:
        return f"{path_of('models', self.model_name)}/versions/{self.model_version}"
