"""What a process can know about the cluster and the task that it belongs to."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

_PATIENCE_SECONDS = 600.0


@dataclasses.dataclass(frozen=True)
class TrialInfo:
    """The trial of this process. Its ``repr`` omits the configuration, which may contain keys of a storage."""

    trial_id: int
    experiment_id: int
    trial_seed: int
    hparams: dict[str, Any]
    experiment_config: dict[str, Any] = dataclasses.field(repr=False)
    trial_run_id: int
    steps_completed: int

    @property
    def _config(self) -> dict[str, Any]:
        """The former name of ``experiment_config``."""
        return self.experiment_config


@dataclasses.dataclass(frozen=True)
class ClusterInfo:
    """The cluster and the task of this process. ``latest_checkpoint`` is the UUID to resume from; None for a first run.

    With ``warm_start``, that checkpoint belongs to another trial: load only the weights, and start at step 0. The
    ``repr`` omits the token and the configurations, because many users may read the output of a trial.
    """

    master_url: str
    cluster_id: str
    agent_id: str
    slot_ids: list[int]
    task_id: str
    allocation_id: str
    session_token: str = dataclasses.field(repr=False)
    task_type: str
    latest_checkpoint: str | None
    warm_start: bool
    trial_info: TrialInfo | None
    task_config: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def trial(self) -> TrialInfo:
        """The trial of this process.

        Raises:
            RuntimeError: the task is not a trial, but a command, a notebook, a shell or a TensorBoard.
        """
        if self.trial_info is None:
            raise RuntimeError(
                f"task {self.task_id} is a {self.task_type}; get_cluster_info().trial exists only in a TRIAL"
            )
        return self.trial_info

    @property
    def user_data(self) -> dict[str, Any]:
        """The ``data`` section of the configuration of the experiment, or of the task."""
        config = self.trial_info.experiment_config if self.trial_info is not None else self.task_config
        return dict(config.get("data") or {})

    @property
    def container_rank(self) -> int:
        """The number of this machine among the trial's machines, from 0."""
        return int(os.environ.get("DET_CROSS_RANK") or 0)

    @property
    def container_addrs(self) -> list[str]:
        """The addresses of the trial's machines in the order of their ranks. With several machines, it waits until all
        have arrived.
        """
        return [str(address) for address in self.machines()["addresses"]]

    @property
    def container_slot_counts(self) -> list[int]:
        """The number of the trial's slots on each of its machines, in the order of their ranks."""
        return [int(slots) for slots in self.machines()["slots"]]

    @property
    def gpu_uuids(self) -> list[str]:
        """The GPUs of this machine's slots; empty if the slots are CPUs."""
        return [device for device in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if device.startswith("GPU-")]

    def machines(self) -> dict[str, Any]:
        """Returns ``addresses`` and ``slots`` of the trial's machines, and the ``rank`` of this machine."""
        from determined.core._connection import Master

        size, here = (int(os.environ.get(name) or 1) for name in ("DET_SIZE", "DET_LOCAL_SIZE"))
        if size == here:
            return {"addresses": ["127.0.0.1"], "slots": [here], "rank": 0}
        master = Master(self.master_url, self.session_token)
        try:
            resources = os.environ.get("DET_RESOURCES_ID", "")
            path = f"/api/v1/allocations/{self.allocation_id}/resources/{resources}/rendezvous"
            return dict(master.get(path, timeout=_PATIENCE_SECONDS)["rendezvousInfo"])
        finally:
            master.close()


def get_cluster_info() -> ClusterInfo | None:
    """Returns what is known about this process; None outside a cluster.

    Example::

        info = det.get_cluster_info()
        learning_rate = info.trial.hparams["learning_rate"] if info else 0.1
    """
    environment = os.environ
    if not environment.get("DET_SESSION_TOKEN") or not environment.get("DET_ALLOCATION_ID"):
        return None
    return ClusterInfo(
        master_url=environment["DET_MASTER"],
        cluster_id=environment.get("DET_CLUSTER_ID", ""),
        agent_id=environment.get("DET_AGENT_ID", ""),
        slot_ids=json.loads(environment.get("DET_SLOT_IDS") or "[]"),
        task_id=environment["DET_TASK_ID"],
        allocation_id=environment["DET_ALLOCATION_ID"],
        session_token=environment["DET_SESSION_TOKEN"],
        task_type=environment.get("DET_TASK_TYPE", "TRIAL"),
        latest_checkpoint=environment.get("DET_LATEST_CHECKPOINT") or None,
        warm_start=environment.get("DET_WARM_START", "") == "1",
        trial_info=_trial_info(environment) if environment.get("DET_TRIAL_ID") else None,
        task_config=json.loads(environment.get("DET_TASK_CONFIG") or "{}"),
    )


def get_trial_cluster_info() -> ClusterInfo | None:
    """Like :func:`get_cluster_info` in a trial; None in every other task."""
    info = get_cluster_info()
    return info if info is not None and info.trial_info is not None else None


def _trial_info(environment: Mapping[str, str]) -> TrialInfo:
    return TrialInfo(
        trial_id=int(environment["DET_TRIAL_ID"]),
        experiment_id=int(environment["DET_EXPERIMENT_ID"]),
        trial_seed=int(environment["DET_TRIAL_SEED"]),
        hparams=json.loads(environment["DET_HPARAMS"]),
        experiment_config=json.loads(environment["DET_EXPERIMENT_CONFIG"]),
        trial_run_id=int(environment.get("DET_TRIAL_RUN_ID") or 1),
        steps_completed=int(environment.get("DET_STEPS_COMPLETED") or 0),
    )
