"""Sends the journal of a run to the master: an unmanaged experiment with one trial."""

from __future__ import annotations

import contextlib
import datetime
import logging
import pathlib
import shutil
import tempfile
import urllib.parse
from collections.abc import Mapping
from typing import Any

from determined._info import ClusterInfo, TrialInfo
from determined.common.api import errors
from determined.core import DistributedContext
from determined.core._connection import Master
from determined.core._context import make_storage
from determined.experimental import core_v2
from determined.experimental._determined import Determined
from determined.experimental.core_v2._config import storage_section
from determined.experimental.core_v2._tracking import track
from determined.tensorboard._board import Board, storage_place
from determined.track._journal import Journal

logger = logging.getLogger("determined")

_SILENT = "its process ended without calling track.finish()"


class ReplacedError(Exception):
    """Another process continues the run; this one's records are no longer accepted."""


class Sender:
    """What is sent twice changes nothing: names are fixed beforehand, and equal reports are one.

    Not thread-safe. Calls raise ConnectionAbortedError after :meth:`close`, and what the master refuses as a whole:
    UnauthenticatedException, ForbiddenException, NotFoundException …
    """

    def __init__(self, journal: Journal, client: Determined | None = None) -> None:
        self._journal = journal
        self._client = client
        self._described: dict[str, Any] = journal.get("run.json")
        self.info: ClusterInfo | None = None
        self.ended = False
        self._master: Master | None = None
        self._board: Board | None = None
        self._storage: Any = None
        self._events_sent = -1

    def begin(self) -> ClusterInfo:
        """Creates the experiment and starts its trial, if no one has done so for this directory."""
        if self.info is not None:
            return self.info
        client = self._client or Determined()
        known = self._journal.get("remote.json")
        if known is None or not self._is_there(client, known):
            known = self._create(client)
            self._journal.put("remote.json", known)
        session = client._session
        self._master = Master(session.master, session.token(), trust=session.trust)
        self.info = _info(session, known)
        self._board = Board(
            storage_place(known["storage"]),
            known["cluster"],
            known["experiment"],
            known["trial"],
            directory=self._journal.path / "events",
        )
        return self.info

    def send(self) -> None:
        """Sends what the journal has, and returns when the master has it."""
        self.begin()
        waiting: dict[str, Any] | None = None
        position = self._journal.sent
        for record, after in self._journal.records(position):
            if waiting is not None and _same_report(waiting, record):
                waiting["metrics"] = {**waiting["metrics"], **record["metrics"]}
            else:
                self._deliver(waiting, position)
                waiting = record
            position = after
        self._deliver(waiting, position)
        self._copy_events()

    def end(self, failure: str | None) -> None:
        body = {"state": "STATE_COMPLETED"} if failure is None else {"state": "STATE_ERROR", "error": failure}
        self._call().patch(f"/api/v1/trials/{self._trial.trial_id}", {**body, "trialRunId": self._trial.trial_run_id})
        self.ended = True

    def close(self) -> None:
        if self._master is not None:
            self._master.close()

    @property
    def _trial(self) -> TrialInfo:
        assert self.info is not None
        return self.info.trial

    def _call(self) -> Master:
        assert self._master is not None
        return self._master

    def _create(self, client: Determined) -> dict[str, Any]:
        run = self._described
        section = storage_section(run.get("storage"))
        _ensure_project(client, run.get("workspace"), run.get("project"))
        config = core_v2.Config(
            name=run["name"],
            description=run.get("description"),
            hparams=run.get("config") or {},
            labels=run.get("tags") or [],
            workspace=run.get("workspace") or ("Uncategorized" if run.get("project") else None),
            project=run.get("project"),
            searcher=run.get("searcher"),
            checkpoint_storage=section,
            external_experiment_id=run["id"],
            external_trial_id=run["id"],
        )
        if (known := _existing(client, run["id"])) is not None:
            return known
        info = track(client, config, section, DistributedContext.single())
        return {
            "cluster": info.cluster_id,
            "experiment": info.trial.experiment_id,
            "trial": info.trial.trial_id,
            "run": info.trial.trial_run_id,
            "task": info.task_id,
            "steps": 0,
            "storage": info.trial.experiment_config.get("checkpoint_storage") or section,
        }

    @staticmethod
    def _is_there(client: Determined, known: Mapping[str, Any]) -> bool:
        """Whether this master has the run: it may have been sent to another, or been deleted."""
        session = client._session
        if session.get("/api/v1/master")["clusterId"] != known["cluster"]:
            raise ValueError(
                f"the run was sent to the cluster {known['cluster']}, and this master is of another; set DET_MASTER "
                "to that cluster, or remove remote.json and sent from the directory to send all of it here"
            )
        try:
            session.get(f"/api/v1/trials/{known['trial']}")
        except errors.NotFoundException:
            raise ValueError(
                f"experiment {known['experiment']} of the run was deleted; remove remote.json and sent from the "
                "directory to send all of it again"
            ) from None
        return True

    def _deliver(self, record: Mapping[str, Any] | None, position: int) -> None:
        if record is None:
            return
        try:
            self._say(record)
        except (errors.BadRequestException, errors.NotFoundException, errors.ConflictException) as error:
            if isinstance(error, errors.ConflictException):
                self._check_not_replaced()
            self._journal.refuse(record, str(error))
            logger.warning("the master refused a record, which stays in refused.jsonl: %s", error)
        self._journal.sent = position

    def _check_not_replaced(self) -> None:
        """A run that another one has replaced may say nothing; for others, only the record was wrong."""
        try:
            self._call().patch(f"/api/v1/trials/{self._trial.trial_id}", {"trialRunId": self._trial.trial_run_id})
        except errors.ConflictException as error:
            raise ReplacedError(str(error)) from None

    def _say(self, record: Mapping[str, Any]) -> None:
        trial, kind = self._trial, record["kind"]
        if kind == "metrics":
            report = {
                "trialId": trial.trial_id,
                "trialRunId": trial.trial_run_id,
                "stepsCompleted": record["step"],
                "reportTime": datetime.datetime.fromtimestamp(record["time"], datetime.timezone.utc).isoformat(),
                "metrics": {"avgMetrics": record["metrics"]},
            }
            body = {"group": record["group"], "metrics": report}
            self._call().post(f"/api/v1/trials/{trial.trial_id}/metrics", body)
        elif kind == "metadata":
            body = {"runId": trial.trial_id, "metadata": record["metadata"]}
            self._call().post(f"/api/v1/runs/{trial.trial_id}/metadata", body)
        elif kind == "artifact":
            self._store(record)
        elif kind == "end":
            self.end(record["error"])

    def _store(self, record: Mapping[str, Any]) -> None:
        """Stores the files of an artifact as a checkpoint of the run."""
        kept = self._journal.path / "files" / record["uuid"]
        known = self._journal.get("remote.json")
        if self._storage is None:
            self._storage, _ = make_storage(known["storage"], probe=True)
        with tempfile.TemporaryDirectory(prefix="artifact-") as draft:
            shutil.copytree(kept, pathlib.Path(draft) / "all")
            resources = self._storage.save(str(pathlib.Path(draft) / "all"), record["uuid"])
        self._call().post(
            "/api/v1/checkpoints",
            {
                "uuid": record["uuid"],
                "taskId": known["task"],
                "allocationId": f"{known['task']}.{known['run']}",
                "resources": {name: str(size) for name, size in resources.items()},
                "metadata": {"steps_completed": record["step"], "artifact": record["name"], **record["metadata"]},
                "state": "STATE_COMPLETED",
            },
        )

    def _copy_events(self) -> None:
        files = (self._journal.path / "events").rglob("*")
        size = sum(file.stat().st_size for file in files if file.is_file())
        if self._board is not None and size != self._events_sent:
            self._board.copy()
            self._events_sent = size


def _same_report(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two records are metrics of one step that do not contradict each other."""
    return (
        one["kind"] == other["kind"] == "metrics"
        and (one["group"], one["step"]) == (other["group"], other["step"])
        and not one["metrics"].keys() & other["metrics"].keys()
    )


def _ensure_project(client: Determined, workspace: str | None, project: str | None) -> None:
    """Creates the workspace and the project of a run if they do not exist."""
    if workspace is None and project is None:
        return
    with contextlib.suppress(errors.ConflictException):  # another run creates it at this moment
        try:
            place = client.get_workspace(workspace or "Uncategorized")
        except errors.NotFoundException:
            place = client.create_workspace(workspace or "Uncategorized")
        if project is not None:
            try:
                place.get_project(project)
            except errors.NotFoundException:
                place.create_project(project)


def _existing(client: Determined, identifier: str) -> dict[str, Any] | None:
    """The run of that id that goes on: a new start of its trial would take back what has no checkpoint."""
    session, name = client._session, urllib.parse.quote(identifier, safe="")
    try:
        trial = session.get(f"/api/v1/trials/by-external-id/{name}/{name}")["trial"]
    except errors.NotFoundException:
        return None
    config = session.get(f"/api/v1/experiments/{trial['experimentId']}")["experiment"]["config"]
    return {
        "cluster": str(session.get("/api/v1/master")["clusterId"]),
        "experiment": int(trial["experimentId"]),
        "trial": int(trial["id"]),
        "run": int(trial["restarts"]) + 1,
        "task": str(trial["taskId"]),
        "steps": int(trial["totalBatchesProcessed"]),
        "storage": config["checkpoint_storage"],
    }


def _info(session: Any, known: Mapping[str, Any]) -> ClusterInfo:
    return ClusterInfo(
        master_url=session.master,
        cluster_id=known["cluster"],
        agent_id="unmanaged",
        slot_ids=[],
        task_id=known["task"],
        allocation_id=f"{known['task']}.{known['run']}",
        session_token=session.token(),
        task_type="TRIAL",
        latest_checkpoint=None,
        warm_start=False,
        trial_info=TrialInfo(
            trial_id=known["trial"],
            experiment_id=known["experiment"],
            trial_seed=0,
            hparams={},
            experiment_config={"checkpoint_storage": known["storage"]},
            trial_run_id=known["run"],
            steps_completed=0,
        ),
    )


def sync(path: pathlib.Path, client: Determined | None = None) -> ClusterInfo:
    """Sends the rest of a directory. Of a process that has died, the run ends as failed.

    Raises:
        RuntimeError: another process sends it at this moment.
    """
    journal = Journal.open(path)
    if not journal.lock_for_sending():
        raise RuntimeError(f"{path} is being sent by another process; wait for it, or end it")
    sender = Sender(journal, client)
    try:
        alive = journal.is_alive()
        info = sender.begin()
        sender.send()
        ended = any(record["kind"] == "end" for record, _ in journal.records(0))
        if not alive and not ended and journal.get("silent") is None:
            sender.end(_SILENT)
            journal.put("silent", True)
        return info
    finally:
        sender.close()
        journal.close()
