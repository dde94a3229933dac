"""One experiment: its commands, its trials and its best checkpoints."""

from __future__ import annotations

import base64
import datetime
import os
import pathlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from determined.common.api import Session
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._lists import list_checkpoints, trial_answers
from determined.experimental._order import CheckpointSortBy, OrderBy, TrialSortBy
from determined.experimental._places import project_of, workspace_of
from determined.experimental._ranking import best_first
from determined.experimental._resource import Resource, State, path_of, state_of, time_of
from determined.experimental._trial import TrialBase

ExperimentState = State


class Experiment(Resource):
    """An experiment. Its attributes are as of the last :meth:`reload`.

    ``id``, ``name``, ``description``, ``notes``, ``labels``, ``state``, ``archived``, ``progress`` (0 to 1), ``config``
    (with all defaults), ``error`` (why it is in state ERROR), ``git`` (``commit``, ``remote``, ``branch``,
    ``committer``, ``commit_date``, ``dirty`` of the submitted directory; empty if unknown), ``project_id``,
    ``workspace_id``.
    """

    def __init__(self, experiment_id: int, session: Session) -> None:
        self.id = experiment_id
        self._session = session
        self._config: dict[str, Any] | None = None

    @classmethod
    def _of(cls, session: Session, answer: Mapping[str, Any]) -> Experiment:
        return cls(answer["id"], session)._take(answer)

    def _read(self, answer: Mapping[str, Any]) -> None:
        self.name: str = answer.get("name") or ""
        self.description: str = answer.get("description") or ""
        self.notes: str = answer.get("notes") or ""
        self.labels: list[str] = list(answer.get("labels") or [])
        self.state: ExperimentState = state_of(answer["state"])
        self.archived: bool = bool(answer.get("archived"))
        self.progress: float = answer.get("progress") or 0.0
        self.username: str = answer.get("username") or ""
        self.start_time: datetime.datetime | None = time_of(answer.get("startTime"))
        self.end_time: datetime.datetime | None = time_of(answer.get("endTime"))
        self.error: str = answer.get("error") or ""
        self.git: dict[str, Any] = answer.get("git") or {}
        self.project_id: int = answer.get("projectId") or 1
        self.workspace_id: int = answer.get("workspaceId") or 1
        self._config = answer.get("config") or None

    @property
    def experiment_id(self) -> int:
        return self.id

    @property
    def config(self) -> dict[str, Any]:
        """The configuration with all defaults."""
        return self.get_config()

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"

    def reload(self) -> None:
        self._take(self._session.get(self._path())["experiment"])

    def get_config(self) -> dict[str, Any]:
        if self._config is None:
            self.reload()
        return self._config or {}

    def activate(self) -> None:
        """Resumes a paused experiment."""
        self._command("activate")

    def pause(self) -> None:
        """Pauses the experiment: every trial saves a checkpoint and releases its slots."""
        self._command("pause")

    def cancel(self) -> None:
        """Cancels the experiment; running trials save a checkpoint first."""
        self._command("cancel")

    def kill(self) -> None:
        """Ends the experiment immediately, without checkpoints."""
        self._command("kill")

    def archive(self) -> None:
        """Hides a finished experiment from lists."""
        self._command("archive")

    def unarchive(self) -> None:
        self._command("unarchive")

    def delete(self) -> None:
        """Deletes a finished experiment with its checkpoints, metrics and logs. The deletion takes a moment."""
        self._session.delete(self._path())

    def delete_tensorboard_files(self) -> None:
        """Deletes the TensorBoard files of all trials from storage."""
        self._session.delete(f"{self._path()}/tensorboard-files")

    def move_to_project(self, workspace_name: str, project_name: str) -> None:
        """Moves the experiment to another project.

        Raises:
            NotFoundException: the workspace does not exist, or it has no such project.
            BadRequestException: the project is archived.
        """
        workspace = workspace_of(self._session, workspace_name)
        project = project_of(self._session, workspace["id"], workspace["name"], project_name)
        self._session.post(f"{self._path()}/move", {"destinationProjectId": project["id"]})
        self.reload()

    def download_code(self, output_dir: str | os.PathLike[str] | None = None) -> str:
        """Writes the model definition to ``exp-<id>_model_def.tar.gz`` in ``output_dir`` and returns that path.

        The directory defaults to the working directory and is created if it does not exist. An existing file is
        replaced.
        """
        directory = pathlib.Path(output_dir or ".")
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"exp-{self.id}_model_def.tar.gz"
        path.write_bytes(base64.b64decode(self._session.get(f"{self._path()}/model_def")["b64Tgz"]))
        return str(path)

    def set_name(self, name: str) -> None:
        self._patch(name=name)

    def set_description(self, description: str) -> None:
        self._patch(description=description)

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def set_labels(self, labels: Iterable[str]) -> None:
        self._patch(labels=sorted(set(labels)))

    def add_label(self, label: str) -> None:
        self.set_labels([*self.labels, label])

    def remove_label(self, label: str) -> None:
        self.set_labels([known for known in self.labels if known != label])

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(self._path(), changes)["experiment"])

    def _command(self, verb: str) -> None:
        self._session.post(f"{self._path()}/{verb}")
        self.reload()

    def _path(self) -> str:
        return path_of("experiments", self.id)

    def iter_trials(
        self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING, limit: int | None = None
    ) -> Iterator[Trial]:
        """Iterates over all trials, which are requested as needed, ``limit`` at a time."""
        for answer in trial_answers(self._session, self._path(), sort_by, order_by, limit):
            yield Trial._of(self._session, answer)

    def list_trials(self, sort_by: TrialSortBy = TrialSortBy.ID, order_by: OrderBy = OrderBy.ASCENDING) -> list[Trial]:
        """Returns all trials."""
        return list(self.iter_trials(sort_by, order_by))

    get_trials = list_trials

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Waits until the experiment has a trial.

        Raises:
            ValueError: the experiment has ended without a trial.
        """
        while True:
            if trials := self.list_trials():
                return trials[0]
            self.reload()
            if self.state.terminal:
                raise ValueError(f"experiment {self.id} is {self.state.name} and has no trials")
            time.sleep(interval)

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Waits until the experiment is COMPLETED, CANCELED, DELETED or ERROR, and returns that state.

        Raises:
            ValueError: the experiment is paused, so it would not end.
        """
        while True:
            self.reload()
            if self.state.terminal:
                return self.state
            if self.state is ExperimentState.PAUSED:
                raise ValueError(f"experiment {self.id} is paused; activate it to wait for its end")
            time.sleep(interval)

    def list_checkpoints(
        self,
        sort_by: str | CheckpointSortBy | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Lists the completed checkpoints of all trials, sorted by time, by an attribute, or by the validation metric
        of that name.
        """
        return list_checkpoints(self._session, self._path(), sort_by, order_by, max_results)

    def top_checkpoint(self, sort_by: str | None = None, smaller_is_better: bool | None = None) -> Checkpoint:
        """Returns the best checkpoint, the first of :meth:`top_n_checkpoints`.

        Raises:
            AssertionError: no checkpoint has a value for the metric.
        """
        return self.top_n_checkpoints(1, sort_by, smaller_is_better)[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[Checkpoint]:
        """Returns the best checkpoint of each of the ``limit`` best trials, best first.

        Only completed checkpoints with a validation after the same number of batches count. By default they are
        compared by the searcher's metric and direction. ``sort_by`` selects another metric, and ``smaller_is_better``
        its direction, which defaults to the searcher's.

        Raises:
            AssertionError: there is no such checkpoint.
        """
        best: dict[int | None, Checkpoint] = {}
        for checkpoint in best_first(self.list_checkpoints(), sort_by, smaller_is_better):
            best.setdefault(checkpoint.trial_id, checkpoint)
        if not best:
            what = f"validation metric {sort_by!r}" if sort_by else "searcher metric"
            raise AssertionError(f"experiment {self.id} has no completed checkpoint with a value for the {what}")
        return list(best.values())[:limit]


ExperimentReference = Experiment


class Trial(TrialBase):
    """A trial. Its attributes are as of the last :meth:`reload`.

    ``id``, ``experiment_id``, ``state``, ``hparams``, ``restarts``, ``batches`` (trained so far),
    ``summary_metrics``, ``warm_start_checkpoint_uuid`` (of the trial it began from, or None).
    """

    def get_experiment(self) -> Experiment:
        """The experiment that the trial belongs to."""
        experiment = Experiment(self.experiment_id, self._session)
        experiment.reload()
        return experiment
