"""A user of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common.api import Session, password_hash
from determined.experimental._resource import Resource, path_of


class User(Resource):
    """A user who may log in. Administrators may change every user; others only their own display name and password.

    ``user_id``, ``username``, ``display_name``, ``admin``, ``active``, ``remote``. Tasks run as the account
    ``agent_uid``, ``agent_gid``, ``agent_user``, ``agent_group`` of the agent's machine if the agent runs as root;
    None for no account.
    """

    def __init__(self, user_id: int, session: Session) -> None:
        self.user_id = user_id
        self._session = session

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> User:
        return cls(answer["id"], session)._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        group = answer.get("agentUserGroup") or {}
        self.username: str = answer["username"]
        self.display_name: str = answer.get("displayName") or ""
        self.admin: bool = bool(answer.get("admin"))
        self.active: bool = bool(answer.get("active"))
        self.remote: bool = bool(answer.get("remote"))
        self.agent_uid: int | None = group.get("agentUid")
        self.agent_gid: int | None = group.get("agentGid")
        self.agent_user: str | None = group.get("agentUser")
        self.agent_group: str | None = group.get("agentGroup")

    def __repr__(self) -> str:
        name = f", username={self.username!r}" if self._is_read else ""
        return f"User(user_id={self.user_id}{name})"

    def reload(self) -> None:
        self._take(self._session.get(self._path())["user"])

    def rename(self, new_username: str) -> None:
        """Raises ConflictException: another user has that name."""
        self._patch(username=new_username)

    def change_display_name(self, display_name: str) -> None:
        self._patch(displayName=display_name)

    def change_password(self, new_password: str) -> None:
        """Changes the password, and ends the user's other sessions."""
        self._patch(password=password_hash(new_password), isHashed=True)

    def activate(self) -> None:
        """Allows the user to log in again."""
        self._patch(active=True)

    def deactivate(self) -> None:
        """Ends the user's sessions and prevents new logins."""
        self._patch(active=False)

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(self._path(), changes)["user"])

    def _path(self) -> str:
        return path_of("users", self.user_id)
