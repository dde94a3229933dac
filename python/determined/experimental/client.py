"""A single master for the whole program: the methods of :class:`Determined` as functions.

::

    from determined.experimental import client

    client.login(master="http://127.0.0.1:8080", user="determined", password="")
    experiment = client.create_experiment("const.yaml", "model_dir")
    experiment.wait()
    model = experiment.top_checkpoint().load()

Without :func:`login`, the first call logs in like the command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined.experimental._checkpoint import Checkpoint
from determined.experimental._checkpoint_fields import CheckpointState, DownloadMode
from determined.experimental._determined import Determined
from determined.experimental._experiment import Experiment, ExperimentReference, ExperimentState, Trial
from determined.experimental._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics
from determined.experimental._model import Model
from determined.experimental._model_version import ModelVersion
from determined.experimental._order import (
    CheckpointOrderBy,
    CheckpointSortBy,
    ExperimentOrderBy,
    ExperimentSortBy,
    ModelOrderBy,
    ModelSortBy,
    OrderBy,
    TrialOrderBy,
    TrialSortBy,
)
from determined.experimental._project import Project
from determined.experimental._resource_pool import ResourcePool
from determined.experimental._trial import TrialState
from determined.experimental._trial_log import LogLevel
from determined.experimental._user import User
from determined.experimental._workspace import Workspace

TrialReference = Trial

_determined: Determined | None = None


def _master() -> Determined:
    global _determined
    if _determined is None:
        _determined = Determined()
    return _determined


def login(
    master: str | None = None,
    user: str | None = None,
    password: str | None = None,
    cert_path: str | None = None,
    cert_name: str | None = None,
    noverify: bool = False,
) -> None:
    """Selects the master and the user of this program.

    Raises:
        ValueError: the program is already logged in.
        UnauthenticatedException, MasterNotFoundException: see :class:`Determined`.
    """
    global _determined
    if _determined is not None:
        raise ValueError("this program is already logged in; use Determined(…) for another master or user")
    _determined = Determined(master, user, password, cert_path, cert_name, noverify)


def logout() -> None:
    """Ends the session; :func:`login` may be called again."""
    global _determined
    if _determined is not None:
        _determined.logout()
    _determined = None


def whoami() -> User:
    return _master().whoami()


def get_session_username() -> str:
    return _master().get_session_username()


def list_users(active: bool | None = None) -> list[User]:
    return _master().list_users(active)


def get_user_by_name(user_name: str) -> User:
    return _master().get_user_by_name(user_name)


def get_user_by_id(user_id: int) -> User:
    return _master().get_user_by_id(user_id)


def create_user(username: str, admin: bool, password: str | None = None, remote: bool = False) -> User:
    """See :meth:`Determined.create_user`."""
    return _master().create_user(username, admin, password, remote)


def list_workspaces() -> list[Workspace]:
    return _master().list_workspaces()


def get_workspace(name: str) -> Workspace:
    return _master().get_workspace(name)


def create_workspace(name: str) -> Workspace:
    return _master().create_workspace(name)


def delete_workspace(name: str) -> None:
    """See :meth:`Determined.delete_workspace`."""
    _master().delete_workspace(name)


def list_resource_pools() -> list[ResourcePool]:
    return _master().list_resource_pools()


def create_experiment(
    config: str | os.PathLike[str] | Mapping[str, Any],
    model_dir: str | os.PathLike[str] | None = None,
    includes: Iterable[str | os.PathLike[str]] | None = None,
    parent_id: int | None = None,
    project_id: int | None = None,
    template: str | None = None,
    *,
    activate: bool = True,
) -> Experiment:
    """See :meth:`Determined.create_experiment`."""
    return _master().create_experiment(config, model_dir, includes, parent_id, project_id, template, activate=activate)


def get_experiment(experiment_id: int) -> Experiment:
    return _master().get_experiment(experiment_id)


def list_experiments(*filters: Any, **more_filters: Any) -> list[Experiment]:
    """See :meth:`Determined.list_experiments`."""
    return _master().list_experiments(*filters, **more_filters)


def get_trial(trial_id: int) -> Trial:
    return _master().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    return _master().get_checkpoint(uuid)


def create_model(
    name: str,
    description: str | None = "",
    metadata: dict[str, Any] | None = None,
    labels: Sequence[str] | None = None,
    workspace_name: str | None = None,
) -> Model:
    return _master().create_model(name, description, metadata, labels, workspace_name)


def get_model(identifier: str | int) -> Model:
    return _master().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    return _master().get_model_by_id(model_id)


def list_models(*filters: Any, **more_filters: Any) -> list[Model]:
    """See :meth:`Determined.list_models`."""
    return _master().list_models(*filters, **more_filters)


get_models = list_models


def get_model_labels() -> list[str]:
    return _master().get_model_labels()


def iter_trials_metrics(trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
    return _master().iter_trials_metrics(trial_ids, group)


stream_trials_metrics = iter_trials_metrics


def stream_trials_training_metrics(trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
    return _master().stream_trials_training_metrics(trial_ids)


def stream_trials_validation_metrics(trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
    return _master().stream_trials_validation_metrics(trial_ids)


__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
    "LogLevel",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "ResourcePool",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "TrialState",
    "User",
    "ValidationMetrics",
    "Workspace",
    "create_experiment",
    "create_model",
    "create_user",
    "create_workspace",
    "delete_workspace",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_session_username",
    "get_trial",
    "get_user_by_id",
    "get_user_by_name",
    "get_workspace",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "list_resource_pools",
    "list_users",
    "list_workspaces",
    "login",
    "logout",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
    "whoami",
]
