"""Creates an experiment and a trial at the master for a program that runs outside a cluster."""

from __future__ import annotations

import json
import os
import urllib.parse
import uuid
from collections.abc import Mapping
from typing import Any

from determined._info import ClusterInfo, TrialInfo
from determined.common import _git
from determined.core import DistributedContext
from determined.core._connection import Master
from determined.experimental._determined import Determined
from determined.experimental.core_v2._config import Config, document


def track(
    client: Determined | None, config: Config, storage: Mapping[str, Any], ranks: DistributedContext
) -> ClusterInfo:
    """Returns the cluster info of this program, the same on all ranks. All ranks must call.

    The chief creates experiment and trial, or finds them by their external ids, and starts a run of the trial.

    Raises:
        ValueError: the trial has an external id, but the experiment has none; or, on other ranks, the chief failed.
    """
    if config.external_trial_id is not None and config.external_experiment_id is None:
        raise ValueError(
            f"external_trial_id is {config.external_trial_id!r} and external_experiment_id is not given; a trial is "
            "identified by both"
        )
    if ranks.rank != 0:
        told: tuple[ClusterInfo | None, str] = ranks.broadcast(None)
        if told[0] is None:
            raise ValueError(f"the chief could not start the trial: {told[1]}")
        return told[0]
    try:
        info = _begin(client or Determined(), config, document(config, storage))
    except Exception as error:
        ranks.broadcast((None, f"{type(error).__name__}: {error}"))
        raise
    ranks.broadcast((info, ""))
    return info


def _begin(client: Determined, config: Config, experiment_config: dict[str, Any]) -> ClusterInfo:
    session = client._session
    master = Master(session.master, session.token(), trust=session.trust)
    try:
        made = {"config": json.dumps(experiment_config), "unmanaged": True, **_git.origin(os.getcwd())}
        # With names of their own, what is said again after an answer was lost makes nothing twice.
        answer = master.put(_by_name(config.external_experiment_id or str(uuid.uuid4())), made)
        experiment = int(answer["experiment"]["id"])
        wanted = {"experimentId": experiment, "hparams": config.hparams or {}, "unmanaged": True}
        name = config.external_trial_id or str(uuid.uuid4())
        trial = master.put("/api/v1/trials", {"createTrialRequest": wanted, "externalTrialId": name})["trial"]
        run = master.post(f"/api/v1/trials/{trial['id']}/start", {"resume": True})
        return ClusterInfo(
            master_url=session.master,
            cluster_id=str(master.get("/api/v1/master")["clusterId"]),
            agent_id="unmanaged",
            slot_ids=[],
            task_id=str(trial["taskId"]),
            allocation_id=f"{trial['taskId']}.{run['trialRunId']}",
            session_token=session.token(),
            task_type="TRIAL",
            latest_checkpoint=run.get("latestCheckpoint") or None,
            warm_start=False,
            trial_info=TrialInfo(
                trial_id=int(trial["id"]),
                experiment_id=experiment,
                trial_seed=0,
                hparams=dict(config.hparams or {}),
                experiment_config=dict(answer.get("config") or experiment_config),
                trial_run_id=int(run["trialRunId"]),
                steps_completed=int(run["stepsCompleted"]),
            ),
        )
    finally:
        master.close()


def _by_name(name: str) -> str:
    return f"/api/v1/experiments/by-external-id/{urllib.parse.quote(name, safe='')}"
