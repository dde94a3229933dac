"""A resource pool, and the workspaces that it is bound to."""

from __future__ import annotations

from collections.abc import Sequence

from determined.common.api import Session
from determined.experimental._resource import path_of


class ResourcePool:
    """A named set of agents. A pool that is bound to workspaces is available only to them; any other is open to all."""

    def __init__(self, session: Session, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def list_workspaces(self) -> list[str]:
        """Returns the names of the workspaces that the pool is bound to; an empty list if it is open to all."""
        ids = self._session.pages(self._path(), "workspaceIds")
        return [str(self._session.get(path_of("workspaces", id))["workspace"]["name"]) for id in ids]

    def add_bindings(self, workspace_names: Sequence[str]) -> None:
        """Binds the pool to more workspaces.

        Raises:
            NotFoundException: a workspace or the pool does not exist.
            BadRequestException: it is the default pool, which is always open to all.
        """
        self._session.post(self._path(), {"workspaceNames": list(workspace_names)})

    def remove_bindings(self, workspace_names: Sequence[str]) -> None:
        self._session.delete(self._path(), body={"workspaceNames": list(workspace_names)})

    def replace_bindings(self, workspace_names: Sequence[str]) -> None:
        """Binds the pool to exactly these workspaces; an empty list opens it to all."""
        self._session.put(self._path(), {"workspaceNames": list(workspace_names)})

    def _path(self) -> str:
        return f"{path_of('resource-pools', self.name)}/workspace-bindings"
