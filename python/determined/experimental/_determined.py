"""The entry point to a master."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from determined import _arguments, _metrics
from determined.common import _git
from determined.common._context import read_context
from determined.common.api import Session
from determined.experimental._administration import Administration
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._experiment import Experiment, Trial
from determined.experimental._metrics import TrialMetrics, iter_metrics
from determined.experimental._order import ExperimentSortBy, OrderBy
from determined.experimental._registry import Registry
from determined.experimental._resource import State, id_of, path_of


def config_text(config: str | os.PathLike[str] | Mapping[str, Any]) -> str:
    """Returns a configuration as the text to send to the master, from a dict or the path of a file.

    Raises:
        FileNotFoundError: the file does not exist.
        TypeError: it is neither, or JSON cannot represent a value in the dict.
    """
    if isinstance(config, Mapping):
        return _metrics.to_json(dict(config), "config")
    if not isinstance(config, (str, os.PathLike)):
        raise TypeError(f"config is {config!r}; it must be a dict, or the path of a YAML file")
    return pathlib.Path(config).read_text()


class Determined(Registry, Administration):
    """A session of a user at a master.

    ``master`` is an address (``host:port`` or ``http://…``), by default ``DET_MASTER``, ``DET_MASTER_ADDR`` or
    ``localhost:8080``. Without ``password``, the token stored by ``det user login`` is used; ``user`` defaults to the
    user of that login, or to ``determined``.

    Example::

        checkpoint = Determined().get_experiment(7).top_checkpoint()
        model = checkpoint.load()

    Raises:
        MasterNotFoundException: no master answers at that address.
        UnauthenticatedException: no user is logged in, or the password is wrong.
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
            return  # a task cannot choose another user
        self._session.login()

    def logout(self) -> None:
        """Ends the session, and deletes the token that the command line stored."""
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

        Files named by a ``.detignore`` at the top of ``model_dir`` are not sent. ``includes`` are additional files and
        directories, which are added at the top level. ``activate=False`` leaves the experiment paused. Warnings of the
        master become a ``UserWarning``: that no agent can run the experiment, or that a setting is changed or ignored.

        Raises:
            BadRequestException: the configuration is invalid; the message has one problem per line.
            FileNotFoundError: the configuration file or the directory does not exist.
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
        """Submits a configuration given as text; otherwise like :meth:`create_experiment`."""
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
        for text in _warnings_of(answer):
            warnings.warn(text, stacklevel=3)
        return Experiment._of(self._session, answer["experiment"])

    def get_experiment(self, experiment_id: int) -> Experiment:
        """Raises NotFoundException if there is no experiment with this id."""
        answer = self._session.get(path_of("experiments", id_of(experiment_id, "experiment_id")))
        return Experiment._of(self._session, answer["experiment"])

    def list_experiments(
        self,
        sort_by: ExperimentSortBy | None = None,
        order_by: OrderBy | None = None,
        experiment_ids: Sequence[int] | None = None,
        labels: Sequence[str] | None = None,
        users: Sequence[str] | None = None,
        states: Sequence[State | str] | None = None,
        name: str | None = None,
        project_id: int | None = None,
        *,
        archived: bool | None = None,
    ) -> list[Experiment]:
        """Lists the experiments with these ids, all the labels, one of the states, one of the owners, and ``name`` in
        their name. They are sorted by id, unless ``sort_by`` is given. A state may be given by its name, such as
        ``"COMPLETED"``.

        Raises:
            ValueError: a state is unknown.
        """
        if experiment_ids is not None and not experiment_ids:
            return []
        params = {
            "sortBy": (sort_by or ExperimentSortBy.ID).value,
            "orderBy": (order_by or OrderBy.ASCENDING).value,
            "experimentIdFilter.incl": list(experiment_ids or ()),
            "labels": list(labels or ()),
            "users": list(users or ()),
            "states": [_arguments.choice(State, one, f"states[{n}]").value for n, one in enumerate(states or ())],
            "name": name,
            "projectId": project_id,
            "archived": archived,
        }
        found = self._session.pages("/api/v1/experiments", "experiments", params)
        return [Experiment._of(self._session, answer) for answer in found]

    def get_trial(self, trial_id: int) -> Trial:
        """Raises NotFoundException if there is no trial with this id."""
        return Trial._of(self._session, self._session.get(path_of("trials", id_of(trial_id, "trial_id")))["trial"])

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        """Raises NotFoundException if there is no checkpoint with this UUID."""
        return Checkpoint._of(self._session, self._session.get(path_of("checkpoints", uuid))["checkpoint"])

    def iter_trials_metrics(self, trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
        """Iterates over the reports of several trials, trial by trial, in ascending order of steps."""
        return iter_metrics(self._session, trial_ids, group)

    stream_trials_metrics = iter_trials_metrics

    def stream_trials_training_metrics(self, trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
        return iter_metrics(self._session, trial_ids, "training")

    def stream_trials_validation_metrics(self, trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
        return iter_metrics(self._session, trial_ids, "validation")


def _warnings_of(answer: Mapping[str, Any]) -> Iterator[str]:
    """The master's warnings for a submitted experiment, in the same words as on the command line."""
    for name in answer.get("warnings") or ():
        if name == "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED":
            why = f": it {answer['launchReason']}" if answer.get("launchReason") else ""
            yield f"no agent of the cluster can run the experiment{why}; it waits until one can."
        else:
            yield str(name)
    yield from map(str, answer.get("configWarnings") or ())
