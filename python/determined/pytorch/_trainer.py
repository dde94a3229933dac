"""Trains a PyTorch trial from a script, on a cluster or outside one."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pathlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, cast

from determined import _environment
from determined._definition._source import SourceSnapshot
from determined._info import get_trial_cluster_info
from determined._run import _launch, _profiling
from determined._run._local import DirectoryStorage, LocalClient, LocalOperations, new_uuid
from determined._run._loop import Follower, Loop
from determined._runtime_api import LoopState
from determined.common.constants import SHARED_FS_CONTAINER_PATH
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import PyTorchTrialController
from determined.pytorch._loading import UNKNOWN
from determined.pytorch._trainer_context import client_of
from determined.pytorch._trial import PyTorchTrial
from determined.tensorboard._board import Board, storage_place

logger = logging.getLogger("determined")

_POLICIES = ("best", "all", "none")
_NO_REPORT = 1 << 30
"""The number of batches in a report if no other is due; the end or a period comes earlier."""


@dataclasses.dataclass(frozen=True)
class TrainUnit:
    """A length or a period; use :class:`Batch` or :class:`Epoch`.

    As a period, ``value`` may also be a container of numbers of batches or epochs.
    """

    value: int | Collection[int]

    def __post_init__(self) -> None:
        for number in self.moments if self.moments is not None else [self.value]:
            if not isinstance(number, int) or isinstance(number, bool):
                raise TypeError(
                    f"{type(self).__name__}({self.value!r}): the value must be a whole number, or a list of them"
                )
            if number < 1 and number == self.value:
                raise ValueError(f"{type(self).__name__}({self.value!r}): the value must be at least 1")

    @property
    def moments(self) -> list[int] | None:
        """The numbers of a container in ascending order; None for a single number."""
        if not isinstance(self.value, Collection) or isinstance(self.value, (str, bytes)):
            return None
        return sorted(self.value)  # what is below 1 never comes: range(0, 100, 10) is 10, 20, …

    def batches_in(self, epoch_length: int) -> int:
        """The number of batches in one unit."""
        raise NotImplementedError

    def to_batches(self, epoch_length: int, after: int = 0) -> int:
        """The value in batches; for a container, its first moment after that many batches, or 0 if none is left."""
        each = self.batches_in(epoch_length)
        if isinstance(self.value, int):
            return self.value * each
        return next((moment * each for moment in self.moments or [] if moment * each > after), 0)


class Batch(TrainUnit):
    """A number of batches."""

    def batches_in(self, epoch_length: int) -> int:
        return 1


class Epoch(TrainUnit):
    """A number of passes over the training data."""

    def batches_in(self, epoch_length: int) -> int:
        if epoch_length == UNKNOWN:
            raise ValueError(
                f"{self}: the training data loader has no length, so its epochs cannot be counted; use Batch()"
            )
        return epoch_length


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The arguments of ``fit``."""

    max_length: TrainUnit | None
    reporting: TrainUnit
    validation: TrainUnit | None
    checkpoint: TrainUnit | None
    policy: str
    initial_validation: bool
    smaller_is_better: bool

    @property
    def has_moments(self) -> bool:
        """Whether a period is a container."""
        units = (self.reporting, self.validation, self.checkpoint)
        return any(unit is not None and unit.moments is not None for unit in units)

    def loop_config(self, rules: Any, epoch_length: int, state: LoopState) -> Any:
        """The configuration for the next action of a loop in ``state``.

        A moment of a container becomes a period of that length, which is due at its first multiple.
        """

        def batches(unit: TrainUnit | None, done: int) -> int:
            return unit.to_batches(epoch_length, max(done, 0)) if unit is not None else 0

        reporting = batches(self.reporting, state.batches_trained)
        if self.reporting.moments is not None:
            reporting = reporting - state.batches_trained if reporting else _NO_REPORT
        return rules.LoopConfig(
            scheduling_unit=reporting,
            min_validation_period=batches(self.validation, state.batches_validated),
            min_checkpoint_period=batches(self.checkpoint, state.batches_checkpointed),
            checkpoint_policy=self.policy,
            perform_initial_validation=self.initial_validation,
            smaller_is_better=self.smaller_is_better,
        )


class Trainer:
    """Trains ``trial`` with the same loop that trains trial classes.

    A run that resumes from its latest checkpoint gives the same numbers as an uninterrupted one.
    """

    trial_class: ClassVar[Any] = PyTorchTrial

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        if not isinstance(trial, self.trial_class):
            raise TypeError(f"trial is a {type(trial).__name__}; it must be a {self.trial_class.__name__}")
        self._trial = trial
        self._context = context
        self._profiling = False

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: int | None = None,
    ) -> None:
        """The former way to write ``fit(profiling_enabled=True)``; the last call before ``fit`` counts.

        The whole training is measured: ``begin_on_batch`` and ``end_after_batch`` are ignored, with a warning.
        ``sync_timings`` is ignored as well; for timings use :meth:`PyTorchTrialContext.set_profiler`.
        """
        del sync_timings
        if enabled and (begin_on_batch > 0 or end_after_batch is not None):
            logger.warning(
                "the profiler measures the whole training, not just the batches %s to %s",
                begin_on_batch,
                "the last" if end_after_batch is None else end_after_batch,
            )
        self._profiling = enabled

    def fit(
        self,
        checkpoint_period: TrainUnit | None = None,
        validation_period: TrainUnit | None = None,
        max_length: TrainUnit | None = None,
        reporting_period: TrainUnit = Batch(100),  # noqa: B008  # frozen
        checkpoint_policy: str = "best",
        latest_checkpoint: str | None = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Trains until ``max_length``, then saves and validates.

        On a cluster, ``searcher.max_length`` sets the length in batches, records or epochs; ``max_length`` is used only
        if the configuration has none. Pass ``latest_checkpoint=det.get_cluster_info().latest_checkpoint``; without it,
        a paused trial starts from the beginning. Outside a cluster, ``latest_checkpoint`` is the path of a checkpoint,
        checkpoints are stored in ``~/.local/share/determined/checkpoints``, and the policy ``best`` means ``all``.

        A period may be a container of numbers, such as ``Batch([100, 1000])`` or ``Epoch(range(5, 50, 5))``; it is then
        due after each of these numbers.

        ``test_mode`` (only outside a cluster) trains and validates one batch. ``profiling_enabled`` (only on a cluster)
        profiles the machine, like ``profiling.enabled`` in the configuration.

        Raises:
            ValueError: the length is missing; ``test_mode`` is used on a cluster; or the policy is unknown.
            TypeError: a length or period is not a Batch or an Epoch; ``max_length`` is a container.
        """
        periods = (checkpoint_period, validation_period, max_length, reporting_period)
        for unit in periods:
            if unit is not None and not isinstance(unit, TrainUnit):
                raise TypeError(f"{unit!r} has no unit; use pytorch.Batch({unit!r}) or pytorch.Epoch({unit!r})")
        if max_length is not None and max_length.moments is not None:
            raise TypeError(f"max_length is {max_length!r}; it must be a single whole number")
        if checkpoint_policy not in _POLICIES:
            raise ValueError(f"checkpoint_policy is {checkpoint_policy!r}; it must be one of {', '.join(_POLICIES)}")
        on_cluster = get_trial_cluster_info() is not None
        if test_mode and on_cluster:
            raise ValueError("test_mode works only outside a cluster; on a cluster use `det experiment create --test`")
        if test_mode:
            max_length = reporting_period = Batch(1)
        config = self._context.get_experiment_config()
        plan = _Plan(
            max_length=max_length,
            reporting=reporting_period,
            validation=validation_period,
            checkpoint=checkpoint_period,
            policy="all" if checkpoint_policy == "best" and not on_cluster else checkpoint_policy,
            initial_validation=step_zero_validation,
            smaller_is_better=config.smaller_is_better(),
        )
        object.__setattr__(self._context.env, "test_mode", test_mode)
        self._use_checkpoint(latest_checkpoint, on_cluster)
        run = _cluster_run if on_cluster else _local_run
        asked = profiling_enabled or self._profiling or config.profiling_enabled()
        shown = self._context.get_enable_tensorboard_logging()
        with _profiling.measured(asked, self._context.distributed, shown):
            run(self._trial, self._context, plan)

    def _use_checkpoint(self, latest: str | None, on_cluster: bool) -> None:
        env = self._context.env
        if on_cluster and latest is None and env.latest_checkpoint is not None:
            logger.warning(
                "the trial has checkpoint %s but starts from the beginning; to resume, pass "
                "latest_checkpoint=det.get_cluster_info().latest_checkpoint to fit()",
                env.latest_checkpoint,
            )
        if latest is not None and not on_cluster and not _PathStorage(_local_root()).holds(latest):
            raise FileNotFoundError(
                f"latest_checkpoint is {latest!r}; there is no such directory, and no such checkpoint in "
                f"{_local_root()}"
            )
        object.__setattr__(env, "latest_checkpoint", latest)


class _FitLoop(Loop):
    """The loop with the periods of ``fit``. The length of an epoch is known once the data loaders are built."""

    def __init__(self, plan: _Plan, lengths: _Lengths, **parts: Any) -> None:
        super().__init__(client=lengths, **parts)  # what else a client has is passed on
        self._plan = plan
        self._lengths_in = lengths

    def start(self) -> None:
        super().start()
        self._lengths_in.epoch_length = self._context.epoch_length  # type: ignore[attr-defined]
        self._config = self._plan.loop_config(self._rules, self._lengths_in.epoch_length, self._state)

    def step(self) -> bool:
        if self._plan.has_moments:
            self._config = self._plan.loop_config(self._rules, self._lengths_in.epoch_length, self._state)
        return super().step()


class _LocalLoop(_FitLoop):
    """The loop outside a cluster. No searcher compares metrics, so a validation may return anything that can be
    reported.
    """

    def _compared(self, metrics: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        return dict(metrics), 0.0


class _Lengths:
    """A client whose operations are in batches: those of the searcher, or the length of ``fit``."""

    def __init__(self, client: Any, to_batches: Callable[[int, int], int]) -> None:
        self._client = client
        self._to_batches = to_batches
        self._asked: dict[int, int] = {}
        self.epoch_length = 0

    def operations(self, known: int, timeout_seconds: float) -> LocalOperations:
        found = self._client.operations(known, timeout_seconds)
        lengths = []
        for length in found.lengths:
            batches = max(1, self._to_batches(length, self.epoch_length))
            self._asked[batches] = length
            lengths.append(batches)
        return LocalOperations(lengths, found.completed, found.closed)

    def complete_operation(self, length: int, metric: float) -> None:
        self._client.complete_operation(self._asked[length], metric)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def _cluster_run(trial: PyTorchTrial, context: PyTorchTrialContext, plan: _Plan) -> None:
    from determined import _runtime

    config = context.get_experiment_config()
    searcher = config.get("searcher") or {}
    given = searcher.get("max_length")
    if not given and searcher.get("max_time") and searcher.get("time_metric") in ("batches", "records", "epochs"):
        given = {searcher["time_metric"]: searcher["max_time"]}
    if not given and plan.max_length is None:
        raise ValueError(
            "the length of the training is missing; set searcher.max_length in the configuration, or pass max_length "
            "to fit()"
        )
    if given and plan.max_length is not None:
        logger.info("max_length of fit() is ignored: searcher.max_length of the configuration sets the length")

    def to_batches(length: int, epoch_length: int) -> int:
        if not given:
            assert plan.max_length is not None
            return plan.max_length.to_batches(epoch_length)
        if isinstance(given, dict) and "epochs" in given:
            return Epoch(length).to_batches(epoch_length)
        if isinstance(given, dict) and "records" in given:
            return length // context.get_global_batch_size()
        return length

    storage: Any = _runtime.CheckpointStorage.from_config_json(
        json.dumps(config["checkpoint_storage"]), SHARED_FS_CONTAINER_PATH
    )
    if context.env.rank == 0:
        storage.probe()  # better now than after hours of training
    source = SourceSnapshot(os.environ.get("DET_WORKDIR") or os.getcwd())
    controller = _controller_of(trial, context, source)
    client = client_of(context)
    env = context.env
    board = None
    if context.get_enable_tensorboard_logging():
        board = Board(
            storage_place(config["checkpoint_storage"]),
            os.environ.get("DET_CLUSTER_ID", ""),
            env.experiment_id,
            env.trial_id,
        )
    lengths = _Lengths(client, to_batches) if client is not None else None

    def tell_environment() -> None:
        if context.env.local_rank == 0:
            _environment.report_in_background(_environment.reporter(context.env.rank, client, _runtime))

    _run(context, plan, controller, lengths, storage, _runtime.new_uuid, board, started=tell_environment)


def _controller_of(
    trial: PyTorchTrial, context: PyTorchTrialContext, source: SourceSnapshot | None
) -> PyTorchTrialController:
    kind: Any = _launch.controller_class(type(trial))
    return cast(PyTorchTrialController, kind(trial, context, source))


def _local_run(trial: PyTorchTrial, context: PyTorchTrialContext, plan: _Plan) -> None:
    if plan.max_length is None:
        raise ValueError("max_length is missing; outside a cluster fit() needs it: max_length=pytorch.Epoch(1)")
    length = plan.max_length
    client = LocalClient([1], smaller_is_better=plan.smaller_is_better)
    lengths = _Lengths(client, lambda _, epoch_length: length.to_batches(epoch_length))
    storage = _PathStorage(_local_root())
    controller = _controller_of(trial, context, None)
    _run(context, plan, controller, lengths, storage, new_uuid, kind=_LocalLoop)


def _local_root() -> str:
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return str(pathlib.Path(home) / "determined" / "checkpoints")


class _PathStorage(DirectoryStorage):
    """A directory of checkpoints; a checkpoint may also be given by its path."""

    def holds(self, uuid: str) -> bool:
        place = self.place(uuid)
        return place is not None and os.path.isdir(place)

    def place(self, uuid: str) -> str | None:
        return uuid if os.path.isdir(uuid) else super().place(uuid)


def _run(
    context: PyTorchTrialContext,
    plan: _Plan,
    controller: PyTorchTrialController,
    lengths: _Lengths | None,
    storage: Any,
    make_uuid: Callable[[], str],
    board: Board | None = None,
    kind: type[_FitLoop] = _FitLoop,
    started: Callable[[], None] = lambda: None,
) -> None:
    from determined import _runtime

    loop: Loop | Follower
    if context.distributed.is_chief:
        assert lengths is not None
        loop = kind(
            plan,
            lengths,
            context=context,
            controller=controller,
            storage=storage,
            rules=_runtime,
            new_uuid=make_uuid,
            board=board,
        )
    else:
        loop = Follower(context=context, controller=controller, storage=storage)
    try:
        loop.start()
        started()
        loop.run()
    finally:
        controller.close()
