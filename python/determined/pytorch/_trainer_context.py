"""Contexts for trials that a script builds."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._info import get_trial_cluster_info
from determined._ranks import _end, _torchrun, _watch
from determined._ranks._distributed import DistributedContext
from determined._run import _launch
from determined._runtime_api import EXIT_GONE, RankClient
from determined.errors import InvalidHP
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import PyTorchTrialController

logger = logging.getLogger("determined")

_on_cluster: weakref.WeakKeyDictionary[PyTorchTrialContext, RankClient | None] = weakref.WeakKeyDictionary()


def client_of(context: PyTorchTrialContext) -> RankClient | None:
    """The chief's connection of a context from :func:`init` on a cluster; None on the other ranks."""
    if context not in _on_cluster:
        raise ValueError("the context was not created by determined.pytorch.init(); use `with pytorch.init() as …`")
    return _on_cluster[context]


def free_env(*, hparams: Mapping[str, Any], **fields: Any) -> EnvContext:
    """An environment that does not require the hyperparameter ``global_batch_size``, because the script sets its own
    batch size.

    If it is missing, :meth:`get_per_slot_batch_size` returns 1.
    """
    given = dict(hparams)
    env = EnvContext(hparams={"global_batch_size": fields.get("size", 1), **given}, **fields)
    object.__setattr__(env, "hparams", given)
    return env


class TrainerContext:
    """The result of :func:`init`: a context manager whose value is the :class:`PyTorchTrialContext`."""

    def __init__(
        self,
        context: PyTorchTrialContext,
        *,
        client: RankClient | None = None,
        connection: _torchrun.Connection | None = None,
        runtime: Any = None,
    ) -> None:
        self._context = context
        self._client = client
        self._connection = connection
        self._runtime = runtime

    def __enter__(self) -> PyTorchTrialContext:
        return self._context

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        done = error is None or (isinstance(error, SystemExit) and error.code in (None, 0))
        try:
            if isinstance(error, InvalidHP) and self._runtime is not None:
                self._refuse(error)
            elif not done and self._connection is not None:
                self._fail(self._connection.ranks, error)
            if self._client is not None:
                self._client.close()
        except Exception as gone:
            if self._runtime is not None and isinstance(gone, self._runtime.Gone):
                sys.exit(EXIT_GONE)
            raise
        finally:
            if self._connection is not None:
                self._connection.close(done=done)
        if self._runtime is not None and isinstance(error, self._runtime.Gone):
            sys.exit(EXIT_GONE)
        if isinstance(error, InvalidHP) and self._runtime is not None:
            sys.exit(0)

    def _refuse(self, error: InvalidHP) -> None:
        ranks = self._context.distributed
        if _end.first(ranks, "stopped", str(error)):
            print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
            speaker = self._client or self._runtime.Client.from_environment()
            speaker.report_early_exit("EXITED_REASON_INVALID_HP")
            _end.told(ranks)

    def _fail(self, ranks: DistributedContext, error: BaseException | None) -> None:
        """The first rank that fails prints its traceback; the others end because of it."""
        assert error is not None and ranks.watch is not None
        if self._runtime is not None and isinstance(error, self._runtime.Gone):
            ranks.watch.claim("gone", "the master has ended the allocation")
        elif not isinstance(error, KeyboardInterrupt) and _end.followed(ranks, ranks.watch, error):
            sys.exit(_watch.EXIT_FOLLOWED)
        ranks.watch.told()


def init(
    *,
    hparams: dict[str, Any] | None = None,
    exp_conf: dict[str, Any] | None = None,
    distributed: DistributedContext | None = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> TrainerContext:
    """Creates a context for a trial that this script builds and a :class:`Trainer` trains, on a cluster or outside one.

    On a cluster, ``hparams`` and ``exp_conf`` default to those of the trial, and all generators are seeded with the
    trial's seed. Outside a cluster, only the given values are used, and no seed is set.

    A script that ``torchrun`` starts with one process per slot trains on all of them. ``distributed`` identifies the
    process if the variables of ``torchrun`` are not set.

    Example::

        with det.pytorch.init() as context:
            trainer = det.pytorch.Trainer(MyTrial(context), context)
            trainer.fit(max_length=det.pytorch.Epoch(10), latest_checkpoint=latest)

    Raises:
        ValueError: the numbers of slots and of processes differ, the processes cannot connect, or
            ``aggregation_frequency`` is not a whole number above 0.
    """
    if (
        not isinstance(aggregation_frequency, int)
        or isinstance(aggregation_frequency, bool)
        or aggregation_frequency < 1
    ):
        raise ValueError(f"aggregation_frequency is {aggregation_frequency!r}; it must be a whole number above 0")
    return open_context(
        PyTorchTrialController,
        PyTorchTrialContext,
        hparams=hparams,
        exp_conf=exp_conf,
        distributed=distributed,
        aggregation_frequency=aggregation_frequency,
        enable_tensorboard_logging=enable_tensorboard_logging,
    )


def open_context(
    controller_class: type[PyTorchTrialController],
    context_class: type[PyTorchTrialContext],
    *,
    hparams: dict[str, Any] | None,
    exp_conf: dict[str, Any] | None,
    distributed: DistributedContext | None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> TrainerContext:
    """See :func:`init`, for the contexts of any kind of trial."""
    info = get_trial_cluster_info()
    slots = int(os.environ.get("DET_SIZE") or 1) if info is not None else None
    place = dataclasses.asdict(_torchrun.place(os.environ, distributed, slots))
    config = dict(exp_conf if exp_conf is not None else info.trial.experiment_config if info else {})
    if aggregation_frequency != 1:
        optimizations = {**(config.get("optimizations") or {}), "aggregation_frequency": aggregation_frequency}
        config["optimizations"] = optimizations
    values = dict(hparams if hparams is not None else info.trial.hparams if info else {})
    facts: dict[str, Any] = {"trial_seed": 0}
    if info is not None:
        facts = {
            "trial_seed": info.trial.trial_seed,
            "experiment_id": info.trial.experiment_id,
            "trial_id": info.trial.trial_id,
            "trial_run_id": info.trial.trial_run_id,
            "latest_checkpoint": info.latest_checkpoint,
            "warm_start": info.warm_start,
        }
    env = free_env(hparams=values, experiment_config=ExperimentConfig(config), **facts, **place)
    connection = _torchrun.Connection(env) if env.size > 1 else None
    ranks = connection.ranks if connection is not None else distributed
    if info is None:
        controller_class.prepare_libraries(env)
        return TrainerContext(context_class(env, ranks), connection=connection)
    from determined import _runtime

    client: RankClient | None = _runtime.Client.from_environment() if env.rank == 0 else None
    controller_class.prepare_process(env, _launch.threads(os.environ))
    context = context_class(env, ranks)
    _on_cluster[context] = client
    context.set_enable_tensorboard_logging(enable_tensorboard_logging)
    if client is not None and connection is not None:
        connection.ranks.watch.last_act = client.flush
    return TrainerContext(context, client=client, connection=connection, runtime=_runtime)


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to build a trial whose checkpoint is going to be loaded; nothing is reported or saved."""

    def __init__(self, hparams: dict[str, Any] | None = None, exp_conf: dict[str, Any] | None = None) -> None:
        config = ExperimentConfig(exp_conf or {})
        super().__init__(
            free_env(hparams=hparams or {}, experiment_config=config, trial_seed=0, managed_training=False)
        )
