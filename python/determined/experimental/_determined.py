"""The entry to everything that a master knows."""

from __future__ import annotations

import enum
import json
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined.common import _git
from determined.common._context import read_context
from determined.common.api import Session
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._experiment import Experiment
from determined.experimental._metrics import TrialMetrics, iter_metrics
from determined.experimental._model import Model, ModelOrderBy, ModelSortBy, model_path
from determined.experimental._resource import OrderBy, State
from determined.experimental._trial import Trial


class ExperimentSortBy(enum.Enum):
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    NAME = "SORT_BY_NAME"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


def config_text(config: str | os.PathLike[str] | Mapping[str, Any]) -> str:
    """A configuration as the master is sent it: of a dict, or of the file of that path.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return json.dumps(config) if isinstance(config, Mapping) else pathlib.Path(config).read_text()


class Determined:
    """A master, and a user who is logged in there.

    ``master`` is an address (``host:port`` or ``http://…``), by default ``DET_MASTER``, ``DET_MASTER_ADDR`` or
    ``localhost:8080``. Without ``password`` the token that ``det user login`` keeps is used; ``user`` is by default
    who is logged in there, else ``determined``.

    Example::

        checkpoint = Determined().get_experiment(7).top_checkpoint()
        model = checkpoint.load()

    Raises:
        MasterNotFoundException: nothing answers at that address.
        UnauthenticatedException: nobody is logged in, or the password is wrong.
    """

    def __init__(
        self,
        master: str | None = None,
        user: str | None = None,
        password: str | None = None,
        cert_path: str | None = None,
        cert_name: str | None = None,
        noverify: bool = False,
    ) -> None:
        self._session = Session(master, user, password, cert_path=cert_path, cert_name=cert_name, noverify=noverify)
        if self._session.has_task_token:
            return  # a task is who it is
        self._session.login()

    def whoami(self) -> str:
        """The name of the user who calls."""
        return self._session.login()

    def logout(self) -> None:
        """Ends the session; a token that the command line keeps is forgotten, too."""
        self._session.logout()

    def create_experiment(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any],
        model_dir: str | os.PathLike[str] | None = None,
        includes: Iterable[str | os.PathLike[str]] | None = None,
        parent_id: int | None = None,
        project_id: int | None = None,
        template: str | None = None,
        *,
        activate: bool = True,
    ) -> Experiment:
        """Submits an experiment: a configuration (a dict, or the path of a YAML file) and a directory of code.

        What a ``.detignore`` at the top of ``model_dir`` names is not sent. ``includes`` are further files and
        directories, which land at the top. ``activate=False`` leaves it paused.

        Raises:
            BadRequestException: the configuration has faults; the text has one a line.
            FileNotFoundError: the configuration file or the directory is not there.
            ValueError: the directory is too large.
        """
        text = config_text(config)
        return self._submit(text, model_dir, includes, parent_id, project_id, template, activate=activate)

    def _submit(
        self,
        text: str,
        model_dir: str | os.PathLike[str] | None,
        includes: Iterable[str | os.PathLike[str]] | None,
        parent_id: int | None = None,
        project_id: int | None = None,
        template: str | None = None,
        *,
        activate: bool,
    ) -> Experiment:
        """Submits a configuration that is text already; else as :meth:`create_experiment`."""
        body: dict[str, Any] = {
            "config": text,
            "modelDefinition": read_context(model_dir, includes or ()),
            "activate": activate,
            **_git.origin(model_dir),
        }
        for name, value in (("parentId", parent_id), ("projectId", project_id), ("template", template)):
            if value is not None:
                body[name] = value
        answer = self._session.post("/api/v1/experiments", body)
        return Experiment(self._session, answer["experiment"])

    def get_experiment(self, experiment_id: int) -> Experiment:
        """Raises NotFoundException where there is none of that id."""
        return Experiment(self._session, self._session.get(f"/api/v1/experiments/{int(experiment_id)}")["experiment"])

    def list_experiments(
        self,
        sort_by: ExperimentSortBy = ExperimentSortBy.ID,
        order_by: OrderBy = OrderBy.ASCENDING,
        *,
        labels: Sequence[str] | None = None,
        users: Sequence[str] | None = None,
        states: Sequence[State] | None = None,
        name: str | None = None,
        archived: bool | None = None,
    ) -> list[Experiment]:
        """Experiments that have all the labels, one of the states, one of the owners, and ``name`` in their name."""
        params = {
            "sortBy": sort_by.value,
            "orderBy": order_by.value,
            "labels": list(labels or ()),
            "users": list(users or ()),
            "states": [state.value for state in states or ()],
            "name": name,
            "archived": archived,
        }
        found = self._session.pages("/api/v1/experiments", "experiments", params)
        return [Experiment(self._session, answer) for answer in found]

    def get_trial(self, trial_id: int) -> Trial:
        """Raises NotFoundException where there is none of that id."""
        return Trial(self._session, self._session.get(f"/api/v1/trials/{int(trial_id)}")["trial"])

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        """Raises NotFoundException where there is none of that uuid."""
        return Checkpoint(self._session, self._session.get(f"/api/v1/checkpoints/{uuid}")["checkpoint"])

    def create_model(
        self,
        name: str,
        description: str | None = "",
        metadata: dict[str, Any] | None = None,
        labels: Sequence[str] | None = None,
        workspace_name: str | None = None,
    ) -> Model:
        """A new entry of the registry, in the workspace ``Uncategorized`` unless another is named.

        Raises:
            ConflictException: there is a model of that name.
        """
        body: dict[str, Any] = {
            "name": name,
            "description": description or "",
            "metadata": metadata or {},
            "labels": list(labels or ()),
        }
        if workspace_name is not None:
            body["workspaceName"] = workspace_name
        return Model(self._session, self._session.post("/api/v1/models", body)["model"])

    def get_model(self, identifier: str | int) -> Model:
        """The model of that name, or of that id where it is a number.

        Raises:
            NotFoundException: there is none.
        """
        return Model(self._session, self._session.get(model_path(str(identifier)))["model"])

    def get_model_by_id(self, model_id: int) -> Model:
        return self.get_model(int(model_id))

    def list_models(
        self,
        sort_by: ModelSortBy = ModelSortBy.NAME,
        order_by: ModelOrderBy = ModelOrderBy.ASCENDING,
        name: str | None = None,
        description: str | None = None,
        model_id: int | None = None,
        labels: Sequence[str] | None = None,
        archived: bool | None = None,
        workspace_names: Sequence[str] | None = None,
    ) -> list[Model]:
        """Models with ``name`` and ``description`` in theirs, with all the labels, in one of the workspaces."""
        params = {
            "sortBy": None if sort_by is ModelSortBy.UNSPECIFIED else f"SORT_BY_{sort_by.name}",
            "orderBy": f"ORDER_BY_{order_by.name}",
            "name": name or None,
            "description": description or None,
            "id": model_id,
            "labels": list(labels or ()),
            "archived": archived,
            "workspaceNames": list(workspace_names or ()),
        }
        return [Model(self._session, answer) for answer in self._session.pages("/api/v1/models", "models", params)]

    get_models = list_models

    def get_model_labels(self) -> list[str]:
        """The labels of all models, the most used first."""
        return list(self._session.get("/api/v1/model/labels")["labels"])

    def iter_trials_metrics(self, trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
        """The reports of several trials, trial by trial, ascending by steps."""
        return iter_metrics(self._session, trial_ids, group)

    stream_trials_metrics = iter_trials_metrics

    def stream_trials_training_metrics(self, trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
        return iter_metrics(self._session, trial_ids, "training")

    def stream_trials_validation_metrics(self, trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
        return iter_metrics(self._session, trial_ids, "validation")
