"""A resource pool, and which workspaces alone may use it."""

from __future__ import annotations

from collections.abc import Sequence

from determined.common.api import Session
from determined.experimental._resource import path_of


class ResourcePool:
    """A named set of agents. One that is bound to workspaces is for these alone; else it is open to all."""

    def __init__(self, session: Session, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def list_workspaces(self) -> list[str]:
        """The names of the workspaces that it is bound to; none where it is open to all."""
        ids = self._session.pages(self._path(), "workspaceIds")
        return [str(self._session.get(path_of("workspaces", id))["workspace"]["name"]) for id in ids]

    def add_bindings(self, workspace_names: Sequence[str]) -> None:
        """Binds it to more workspaces.

        Raises:
            NotFoundException: there is no such workspace, or no such pool.
            BadRequestException: it is the default pool, which stays open to all.
        """
        self._session.post(self._path(), {"workspaceNames": list(workspace_names)})

    def remove_bindings(self, workspace_names: Sequence[str]) -> None:
        self._session.delete(self._path(), body={"workspaceNames": list(workspace_names)})

    def replace_bindings(self, workspace_names: Sequence[str]) -> None:
        """Binds it to exactly these; with none of them it is open to all again."""
        self._session.put(self._path(), {"workspaceNames": list(workspace_names)})

    def _path(self) -> str:
        return f"{path_of('resource-pools', self.name)}/workspace-bindings"
