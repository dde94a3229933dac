"""The model registry: named checkpoints that are kept."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from determined.common.api import Session
from determined.experimental._model_version import ModelVersion
from determined.experimental._order import ModelOrderBy, OrderBy
from determined.experimental._resource import Resource, joined, path_of, time_of


class Model(Resource):
    """A named series of checkpoints. Its attributes are as of the last :meth:`reload`."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> Model:
        return cls(session, answer["name"])._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.name = answer["name"]
        self.model_id: int = answer["id"]
        self.description: str = answer.get("description") or ""
        self.notes: str = answer.get("notes") or ""
        self.labels: list[str] = list(answer.get("labels") or [])
        self.metadata: dict[str, Any] = answer.get("metadata") or {}
        self.archived: bool = bool(answer.get("archived"))
        self.username: str = answer.get("username") or ""
        self.creation_time: datetime.datetime | None = time_of(answer.get("creationTime"))
        self.last_updated_time: datetime.datetime | None = time_of(answer.get("lastUpdatedTime"))
        self.num_versions: int = answer.get("numVersions") or 0
        self.workspace_id: int = answer.get("workspaceId") or 1

    def __repr__(self) -> str:
        metadata = f", metadata={self.metadata!r}" if self._is_read else ""
        return f"Model(name={self.name!r}{metadata})"

    def get_version(self, version: int = -1) -> ModelVersion | None:
        """Returns the version of that number. -1 and 0 mean the latest, which is None if there is none yet.

        Raises:
            NotFoundException: there is no version of that number.
        """
        if version in (0, -1):
            newest = self._versions(ModelOrderBy.DESC, limit=1)
            return newest[0] if newest else None
        found = self._session.get(f"{self._path()}/versions/{version}")["modelVersion"]
        return ModelVersion._of(self._session, found)

    def get_versions(self, order_by: ModelOrderBy | OrderBy = ModelOrderBy.DESC) -> list[ModelVersion]:
        """Returns all versions, the latest first."""
        return self._versions(order_by)

    list_versions = get_versions

    def _versions(self, order_by: ModelOrderBy | OrderBy, limit: int | None = None) -> list[ModelVersion]:
        params = {"orderBy": f"ORDER_BY_{order_by.name}"}
        path = f"{self._path()}/versions"
        if limit is not None:
            answers = self._session.get(path, {**params, "limit": limit})["modelVersions"]
        else:
            answers = list(self._session.pages(path, "modelVersions", params))
        return [ModelVersion._of(self._session, answer) for answer in answers]

    def register_version(
        self,
        checkpoint_uuid: str,
        *,
        name: str = "",
        comment: str = "",
        notes: str = "",
        labels: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
    ) -> ModelVersion:
        """Registers a completed checkpoint as the next version, which protects it from garbage collection.

        Raises:
            NotFoundException: the checkpoint does not exist.
            BadRequestException: the checkpoint is deleted, or the model is archived.
        """
        body = {
            "checkpointUuid": checkpoint_uuid,
            "modelName": self.name,
            "name": name,
            "comment": comment,
            "notes": notes,
            "labels": list(labels),
            "metadata": metadata or {},
        }
        answer = self._session.post(f"{self._path()}/versions", body)["modelVersion"]
        self.reload()
        return ModelVersion._of(self._session, answer)

    def add_metadata(self, metadata: dict[str, Any]) -> None:
        """Sets entries of the metadata. A value replaces the previous one completely."""
        self._patch(metadata=joined(self.metadata, metadata))

    def remove_metadata(self, keys: Iterable[str]) -> None:
        gone = set(keys)
        self._patch(metadata={name: value for name, value in self.metadata.items() if name not in gone})

    def set_labels(self, labels: Sequence[str]) -> None:
        self._patch(labels=list(labels))

    def set_description(self, description: str) -> None:
        self._patch(description=description)

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def set_name(self, name: str) -> None:
        """Renames the model.

        Raises:
            ConflictException: another model has that name.
        """
        self._take(self._session.patch(self._path(), {"name": name})["model"])

    def move_to_workspace(self, workspace_name: str) -> None:
        """Moves the model to another workspace.

        Raises:
            NotFoundException: there is no workspace of that name.
        """
        self._patch(workspaceName=workspace_name)

    def archive(self) -> None:
        """Archives the model: it is hidden from lists and accepts no new versions."""
        self._session.post(f"{self._path()}/archive")
        self.archived = True

    def unarchive(self) -> None:
        self._session.post(f"{self._path()}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Deletes the model and its versions. The checkpoints stay, but garbage collection may delete them."""
        self._session.delete(self._path())

    def reload(self) -> None:
        self._take(self._session.get(self._path())["model"])

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(self._path(), changes)["model"])

    def _path(self) -> str:
        return path_of("models", self.name)
