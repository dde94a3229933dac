"""Finding workspaces and projects by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from determined.common.api import Session
from determined.common.api.errors import NotFoundException
from determined.experimental._resource import path_of


def workspace_of(session: Session, name: str) -> Mapping[str, Any]:
    """Returns the workspace of that name, as in the API. Raises NotFoundException."""
    answers = session.pages("/api/v1/workspaces", "workspaces", {"name": name})
    return _called(name, answers, f"workspace {name!r} not found")


def project_of(session: Session, workspace_id: int, workspace_name: str, name: str) -> Mapping[str, Any]:
    """Returns the project of that name in a workspace, as in the API. Raises NotFoundException."""
    answers = session.pages(f"{path_of('workspaces', workspace_id)}/projects", "projects", {"name": name})
    return _called(name, answers, f"project {name!r} not found in workspace {workspace_name!r}")


def _called(name: str, answers: Iterable[Mapping[str, Any]], otherwise: str) -> Mapping[str, Any]:
    """The one with exactly this name; if there is none, the master returns those that differ in case."""
    for answer in answers:
        if answer["name"] == name:
            return answer
    raise NotFoundException(otherwise, 404)
