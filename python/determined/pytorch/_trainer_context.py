"""Contexts for trials that a script builds itself."""

from __future__ import annotations

import logging
import os
import sys
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from determined import _launch
from determined._distributed import DistributedContext
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._info import get_cluster_info
from determined._runtime_api import EXIT_GONE, Client
from determined.errors import InvalidHP
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import PyTorchTrialController

logger = logging.getLogger("determined")

_clients: weakref.WeakKeyDictionary[PyTorchTrialContext, Client] = weakref.WeakKeyDictionary()


def client_of(context: PyTorchTrialContext) -> Client:
    """The connection of a context that :func:`init` has made on the cluster."""
    if context not in _clients:
        raise ValueError("the context is not one of determined.pytorch.init(); make it with `with pytorch.init() as …`")
    return _clients[context]


def free_env(*, hparams: Mapping[str, Any], **fields: Any) -> EnvContext:
    """An environment whose hyperparameters need no ``global_batch_size``: the script says itself how large a batch is.

    Where it is missing, :meth:`get_per_slot_batch_size` answers 1.
    """
    given = dict(hparams)
    env = EnvContext(hparams={"global_batch_size": fields.get("size", 1), **given}, **fields)
    object.__setattr__(env, "hparams", given)
    return env


class TrainerContext:
    """What :func:`init` gives: a context manager whose value is the :class:`PyTorchTrialContext`."""

    def __init__(self, context: PyTorchTrialContext, client: Client | None, runtime: Any) -> None:
        self._context = context
        self._client = client
        self._runtime = runtime

    def __enter__(self) -> PyTorchTrialContext:
        return self._context

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._client is None:
            return
        if isinstance(error, self._runtime.Gone):
            sys.exit(EXIT_GONE)
        try:
            if isinstance(error, InvalidHP):
                print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
                self._client.report_early_exit("EXITED_REASON_INVALID_HP")
            self._client.close()
        except self._runtime.Gone:
            sys.exit(EXIT_GONE)
        if isinstance(error, InvalidHP):
            sys.exit(0)


def init(
    *,
    hparams: dict[str, Any] | None = None,
    exp_conf: dict[str, Any] | None = None,
    distributed: DistributedContext | None = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> TrainerContext:
    """A context for a trial that this script builds and a :class:`Trainer` trains; on the cluster or off it.

    On the cluster ``hparams`` and ``exp_conf`` are by default those of the trial, and all generators are seeded with
    the trial's seed. Off it they are what is given, and no seed is set.

    Example::

        with det.pytorch.init() as context:
            trainer = det.pytorch.Trainer(MyTrial(context), context)
            trainer.fit(max_length=det.pytorch.Epoch(10), latest_checkpoint=latest)

    Raises:
        NotImplementedError: the trial has more than one slot.
    """
    del enable_tensorboard_logging  # there is no TensorBoard to log to
    info = get_cluster_info()
    size = distributed.size if distributed is not None else int(os.environ.get("DET_SIZE") or 1) if info else 1
    if size > 1:
        raise NotImplementedError(
            f"the trial has {size} slots; a Trainer trains on one. On several: entrypoint: model_def:MyTrial"
        )
    config = dict(exp_conf if exp_conf is not None else info.trial.experiment_config if info else {})
    if aggregation_frequency != 1:
        optimizations = {**(config.get("optimizations") or {}), "aggregation_frequency": aggregation_frequency}
        config["optimizations"] = optimizations
    values = dict(hparams if hparams is not None else info.trial.hparams if info else {})
    if info is None:
        env = free_env(hparams=values, experiment_config=ExperimentConfig(config), trial_seed=0)
        return TrainerContext(PyTorchTrialContext(env, distributed), None, None)
    from determined import _runtime

    env = free_env(
        hparams=values,
        experiment_config=ExperimentConfig(config),
        trial_seed=info.trial.trial_seed,
        experiment_id=info.trial.experiment_id,
        trial_id=info.trial.trial_id,
        trial_run_id=info.trial.trial_run_id,
        latest_checkpoint=info.latest_checkpoint,
        warm_start=info.warm_start,
    )
    client = _runtime.Client.from_environment()
    PyTorchTrialController.prepare_process(env, _launch.threads(dict(os.environ)))
    context = PyTorchTrialContext(env, distributed)
    _clients[context] = client
    return TrainerContext(context, client, _runtime)


class CheckpointLoadContext(PyTorchTrialContext):
    """For building a trial whose checkpoint is going to be loaded: nothing is reported or saved."""

    def __init__(self, hparams: dict[str, Any] | None = None, exp_conf: dict[str, Any] | None = None) -> None:
        config = ExperimentConfig(exp_conf or {})
        super().__init__(
            free_env(hparams=hparams or {}, experiment_config=config, trial_seed=0, managed_training=False)
        )
