"""Whom a master knows, and what they have in common."""

from __future__ import annotations

from determined.common.api import Session, password_hash
from determined.experimental._resource import path_of
from determined.experimental._resource_pool import ResourcePool
from determined.experimental._user import User
from determined.experimental._workspace import Workspace


class Administration:
    """The part of :class:`Determined` that is about users, workspaces and resource pools."""

    _session: Session

    def whoami(self) -> User:
        """The user who calls; in a task of the platform, its owner."""
        return User._of(self._session, self._session.get("/api/v1/me")["user"])

    def get_session_username(self) -> str:
        """The name of the user who calls."""
        return self._session.login()

    def list_users(self, active: bool | None = None) -> list[User]:
        """All users; with ``active`` those who may log in, or those who may not."""
        found = self._session.pages("/api/v1/users", "users", {"active": active})
        return [User._of(self._session, answer) for answer in found]

    def get_user_by_name(self, user_name: str) -> User:
        """Raises NotFoundException: there is none of that name."""
        answer = self._session.get(f"{path_of('users', user_name)}/by-username")
        return User._of(self._session, answer["user"])

    def get_user_by_id(self, user_id: int) -> User:
        """Raises NotFoundException: there is none of that id."""
        return User._of(self._session, self._session.get(path_of("users", int(user_id)))["user"])

    def create_user(self, username: str, admin: bool, password: str | None = None, remote: bool = False) -> User:
        """A new user, for administrators to make. Without ``password`` nothing is asked at a log-in.

        Raises:
            ValueError: ``remote``; there is no other place here where users could log in.
            ForbiddenException: who calls is no administrator.
            ConflictException: there is a user of that name.
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
        """Raises NotFoundException: there is none of exactly that name."""
        workspace = Workspace(self._session, workspace_name=name)
        workspace.reload()
        return workspace

    def create_workspace(self, name: str) -> Workspace:
        """Raises ConflictException: there is one of that name."""
        return Workspace._of(self._session, self._session.post("/api/v1/workspaces", {"name": name})["workspace"])

    def delete_workspace(self, name: str) -> None:
        """Deletes a workspace with its projects and their experiments; it is gone when the last of these is.

        Raises:
            NotFoundException: there is none of that name.
            BadRequestException: an experiment in it is not finished or is needed, it holds models, or it is the one
                that always exists; nothing was deleted.
        """
        self._session.delete(path_of("workspaces", self.get_workspace(name).id))

    def list_resource_pools(self) -> list[ResourcePool]:
        found = self._session.pages("/api/v1/resource-pools", "resourcePools")
        return [ResourcePool(self._session, answer["name"]) for answer in found]
