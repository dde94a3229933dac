"""The model registry of a master."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined.common.api import Session
from determined.experimental._model import Model
from determined.experimental._order import ModelOrderBy, ModelSortBy, OrderBy
from determined.experimental._resource import path_of


class Registry:
    """The methods of :class:`Determined` for models."""

    _session: Session

    def create_model(
        self,
        name: str,
        description: str | None = "",
        metadata: dict[str, Any] | None = None,
        labels: Sequence[str] | None = None,
        workspace_name: str | None = None,
    ) -> Model:
        """Creates a model in the registry, by default in the workspace ``Uncategorized``.

        Raises:
            ConflictException: a model of that name exists.
        """
        body: dict[str, Any] = {
            "name": name,
            "description": description or "",
            "metadata": metadata or {},
            "labels": list(labels or ()),
        }
        if workspace_name is not None:
            body["workspaceName"] = workspace_name
        return Model._of(self._session, self._session.post("/api/v1/models", body)["model"])

    def get_model(self, identifier: str | int) -> Model:
        """Returns the model of that name, or of that id if it is a number.

        Raises:
            NotFoundException: there is no such model.
        """
        return Model._of(self._session, self._session.get(path_of("models", identifier))["model"])

    def get_model_by_id(self, model_id: int) -> Model:
        return self.get_model(int(model_id))

    def list_models(
        self,
        sort_by: ModelSortBy = ModelSortBy.NAME,
        order_by: ModelOrderBy | OrderBy = ModelOrderBy.ASCENDING,
        name: str | None = None,
        description: str | None = None,
        model_id: int | None = None,
        workspace_names: Sequence[str] | None = None,
        workspace_ids: Sequence[int] | None = None,
        *,
        labels: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> list[Model]:
        """Lists the models whose name and description contain ``name`` and ``description``, with all the labels, in one
        of the workspaces.
        """
        params = {
            "sortBy": None if sort_by is ModelSortBy.UNSPECIFIED else f"SORT_BY_{sort_by.name}",
            "orderBy": f"ORDER_BY_{order_by.name}",
            "name": name or None,
            "description": description or None,
            "id": model_id,
            "labels": list(labels or ()),
            "archived": archived,
            "workspaceNames": list(workspace_names or ()),
            "workspaceIds": list(workspace_ids or ()),
        }
        found = [Model._of(self._session, answer) for answer in self._session.pages("/api/v1/models", "models", params)]
        if sort_by is ModelSortBy.WORKSPACE:  # the master has them by their ids then
            found.sort(key=lambda model: model.workspace_id, reverse=order_by.name == "DESC")
        return found

    get_models = list_models

    def get_model_labels(self) -> list[str]:
        """Returns the labels of all models, the most used first."""
        return list(self._session.get("/api/v1/model/labels")["labels"])
