"""Users, workspaces and resource pools of a master."""

from __future__ import annotations

from determined.common.api import Session, password_hash
from determined.experimental._resource import path_of
from determined.experimental._resource_pool import ResourcePool
from determined.experimental._user import User
from determined.experimental._workspace import Workspace


class Administration:
    """The methods of :class:`Determined` for users, workspaces and resource pools."""

    _session: Session

    def whoami(self) -> User:
        """Returns the user of this session; in a task of the platform, its owner."""
        return User._of(self._session, self._session.get("/api/v1/me")["user"])

    def get_session_username(self) -> str:
        """Returns the name of the user of this session."""
        return self._session.login()

    def list_users(self, active: bool | None = None) -> list[User]:
        """Returns all users; with ``active`` only those who may log in, or only those who may not."""
        found = self._session.pages("/api/v1/users", "users", {"active": active})
        return [User._of(self._session, answer) for answer in found]

    def get_user_by_name(self, user_name: str) -> User:
        """Raises NotFoundException: there is no user of that name."""
        answer = self._session.get(f"{path_of('users', user_name)}/by-username")
        return User._of(self._session, answer["user"])

    def get_user_by_id(self, user_id: int) -> User:
        """Raises NotFoundException: there is no user of that id."""
        return User._of(self._session, self._session.get(path_of("users", int(user_id)))["user"])

    def create_user(self, username: str, admin: bool, password: str | None = None, remote: bool = False) -> User:
        """Creates a user. Only administrators may do this. Without ``password``, the user logs in without one.

        Raises:
            ValueError: ``remote`` is True; remote users are not supported.
            ForbiddenException: the user of this session is not an administrator.
            ConflictException: a user of that name exists.
        """
        if remote:
            raise ValueError(
                f"create_user({username!r}, remote=True): remote users are not supported; leave remote out"
            )
        body = {
            "user": {"username": username, "admin": admin, "active": True},
            "password": password_hash(password or ""),
            "isHashed": True,
        }
        return User._of(self._session, self._session.post("/api/v1/users", body)["user"])

    def list_workspaces(self) -> list[Workspace]:
        found = self._session.pages("/api/v1/workspaces", "workspaces")
        return [Workspace._of(self._session, answer) for answer in found]

    def get_workspace(self, name: str) -> Workspace:
        """Raises NotFoundException: there is no workspace of exactly that name."""
        workspace = Workspace(self._session, workspace_name=name)
        workspace.reload()
        return workspace

    def create_workspace(self, name: str) -> Workspace:
        """Raises ConflictException: a workspace of that name exists."""
        return Workspace._of(self._session, self._session.post("/api/v1/workspaces", {"name": name})["workspace"])

    def delete_workspace(self, name: str) -> None:
        """Deletes a workspace with its projects and experiments. It disappears when the last experiment is deleted.

        Raises:
            NotFoundException: there is no workspace of that name.
            BadRequestException: an experiment in it is not finished or is needed, it contains models, or it is the
                default workspace; nothing was deleted.
        """
        self._session.delete(path_of("workspaces", self.get_workspace(name).id))

    def list_resource_pools(self) -> list[ResourcePool]:
        found = self._session.pages("/api/v1/resource-pools", "resourcePools")
        return [ResourcePool(self._session, answer["name"]) for answer in found]
