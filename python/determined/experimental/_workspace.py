"""A workspace, which groups projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common.api import Session
from determined.experimental._places import project_of, workspace_of
from determined.experimental._project import Project
from determined.experimental._resource import Resource, path_of
from determined.experimental._resource_pool import ResourcePool


class Workspace(Resource):
    """A workspace, given by its id or its name. ``id``, ``name``, ``archived``."""

    def __init__(self, session: Session, workspace_id: int | None = None, workspace_name: str | None = None) -> None:
        if (workspace_id is None) == (workspace_name is None):
            raise ValueError("pass either workspace_id or workspace_name to Workspace()")
        self._session = session
        self._wanted = workspace_name
        if workspace_id is not None:
            self.id: int = workspace_id

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> Workspace:
        return cls(session, answer["id"])._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.id = answer["id"]
        self.name: str = answer["name"]
        self.archived: bool = bool(answer.get("archived"))

    def __repr__(self) -> str:
        return f"Workspace(name={self._wanted!r})" if "id" not in vars(self) else f"Workspace(id={self.id})"

    def reload(self) -> None:
        if "id" in vars(self):
            self._take(self._session.get(self._path())["workspace"])
        else:
            assert self._wanted is not None
            self._take(workspace_of(self._session, self._wanted))

    def list_projects(self) -> list[Project]:
        found = self._session.pages(f"{self._path()}/projects", "projects")
        return [Project._of(self._session, answer) for answer in found]

    def get_project(self, project_name: str) -> Project:
        """Raises NotFoundException: the workspace has no project of that name."""
        return Project._of(self._session, project_of(self._session, self.id, self.name, project_name))

    def create_project(self, name: str, description: str | None = None) -> Project:
        """Raises ConflictException: the workspace has a project of that name."""
        body = {"name": name, "description": description or ""}
        return Project._of(self._session, self._session.post(f"{self._path()}/projects", body)["project"])

    def delete_project(self, name: str) -> None:
        """Deletes a project with its experiments. It disappears when the last experiment is deleted.

        Raises:
            NotFoundException: the workspace has no project of that name.
            BadRequestException: an experiment in it is not finished or is needed; nothing was deleted.
        """
        self._session.delete(path_of("projects", self.get_project(name).id))

    def list_pools(self) -> list[ResourcePool]:
        """Returns the resource pools that experiments of this workspace may use."""
        names = self._session.pages(f"{self._path()}/available-resource-pools", "resourcePools")
        return [ResourcePool(self._session, name) for name in names]

    def _path(self) -> str:
        return path_of("workspaces", self.id)
