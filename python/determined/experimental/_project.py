"""A project: experiments that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common.api import Session
from determined.experimental._experiment import Experiment
from determined.experimental._resource import Resource, path_of


class Project(Resource):
    """A project of a workspace.

    ``id``, ``name``, ``key``, ``description``, ``workspace_id``, ``username`` (whose it is), ``archived``,
    ``n_experiments``, ``n_active_experiments``, ``notes`` (dicts with ``name`` and ``contents``).
    """

    def __init__(self, session: Session, project_id: int) -> None:
        self._session = session
        self.id = project_id

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> Project:
        return cls(session, answer["id"])._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.name: str = answer["name"]
        self.key: str = answer.get("key") or ""
        self.description: str = answer.get("description") or ""
        self.workspace_id: int = answer["workspaceId"]
        self.username: str = answer.get("username") or ""
        self.archived: bool = bool(answer.get("archived"))
        self.n_experiments: int = answer.get("numExperiments") or 0
        self.n_active_experiments: int = answer.get("numActiveExperiments") or 0
        self.notes: list[dict[str, str]] = list(answer.get("notes") or [])

    def __repr__(self) -> str:
        return f"Project(id={self.id})"

    def reload(self) -> None:
        self._take(self._session.get(self._path())["project"])

    def list_experiments(self) -> list[Experiment]:
        """Lists all experiments of the project by id, including archived ones."""
        found = self._session.pages("/api/v1/experiments", "experiments", {"projectId": self.id})
        return [Experiment._of(self._session, answer) for answer in found]

    def archive(self) -> None:
        """Archives the project, which then accepts nothing new."""
        self._command("archive")

    def unarchive(self) -> None:
        self._command("unarchive")

    def set_name(self, name: str) -> None:
        """Raises ConflictException: another project of the workspace has that name."""
        self._patch(name=name)

    def set_description(self, description: str) -> None:
        self._patch(description=description)

    def set_key(self, key: str) -> None:
        """Sets the short key with which identifiers of runs begin.

        Raises:
            BadRequestException: it is not a valid key.
            ConflictException: another project has that key.
        """
        self._patch(key=key)

    def add_note(self, name: str, contents: str) -> None:
        self.notes = self._session.post(f"{self._path()}/notes", {"name": name, "contents": contents})["notes"]

    def remove_note(self, name: str) -> None:
        """Removes the note of that name.

        Raises:
            ValueError: there is no such note, or there are several.
        """
        self.reload()
        left = [note for note in self.notes if note["name"] != name]
        if (count := len(self.notes) - len(left)) != 1:
            raise ValueError(f"project {self.id} has {count} notes named {name!r}; there must be exactly one to remove")
        self.notes = self._session.put(f"{self._path()}/notes", {"notes": left})["notes"]

    def _command(self, verb: str) -> None:
        self._session.post(f"{self._path()}/{verb}")
        self.reload()

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(self._path(), changes)["project"])

    def _path(self) -> str:
        return path_of("projects", self.id)
