"""The loop of a trial: get the next action, execute it, report it. The runtime's rules decide the next action."""

from __future__ import annotations

import contextlib
import logging
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from determined import _metrics
from determined._run._background import Background
from determined._run._saving import Pending, Saver
from determined._runtime_api import Action, CheckpointStorage, Client, LoopConfig, LoopState, NextAction
from determined._train_context import TrialContext
from determined._trial import TrialController
from determined._version import __version__
from determined.tensorboard._board import Board

logger = logging.getLogger("determined")

WAIT_SECONDS = 5.0
PAUSE_SECONDS = 30.0


class Rules(Protocol):
    """The part of ``determined._runtime`` that decides; the module itself is one."""

    @property
    def LoopConfig(self) -> Callable[..., LoopConfig]: ...  # noqa: N802
    @property
    def LoopState(self) -> Any: ...  # noqa: N802
    @property
    def next_action(self) -> NextAction: ...


def loop_config(rules: Rules, context: TrialContext) -> LoopConfig:
    """The loop's part of the experiment configuration, in batches."""
    config = context.get_experiment_config()
    batch = context.env.hparams.get("global_batch_size", 1)
    return rules.LoopConfig(
        scheduling_unit=1 if context.env.test_mode else config.scheduling_unit(),
        min_validation_period=config.period_in_batches("min_validation_period", batch),
        min_checkpoint_period=config.period_in_batches("min_checkpoint_period", batch),
        checkpoint_policy=config.checkpoint_policy(),
        perform_initial_validation=config.perform_initial_validation(),
        smaller_is_better=config.smaller_is_better(),
    )


class Loop:
    """Runs one trial in this process, from its checkpoint (if any) to its end or to a pause.

    In a trial with several ranks, it runs on the chief, which alone decides, talks to the master and saves. It tells
    the other ranks, which run a ``Follower``, what to do.

    A restarted trial resumes from the state *in its checkpoint*, never from what the master knows. It may train and
    report batches again, with the same numbers.
    """

    def __init__(
        self,
        *,
        context: TrialContext,
        controller: TrialController,
        client: Client,
        storage: CheckpointStorage,
        rules: Rules,
        new_uuid: Callable[[], str],
        board: Board | None = None,
    ) -> None:
        self._context = context
        self._board = board
        self._controller = controller
        self._ranks = context.distributed
        self._client = client
        self._storage = storage
        self._saver = Saver(client, storage)
        self._rules = rules
        self._new_uuid = new_uuid
        self._config = loop_config(rules, context)
        self._state: LoopState = rules.LoopState()
        self._searcher_metric: float | None = None
        self._lengths: list[int] = []
        self._closed = False
        self._reported_state = ""
        self._stop = False

    @property
    def state(self) -> LoopState:
        return self._state

    def start(self) -> None:
        """Loads the checkpoint to resume from, and prepares for the first action."""
        loop = _start(self._context, self._controller, self._storage)
        if loop is not None:
            self._state = self._rules.LoopState.from_dict(loop["state"])
            self._searcher_metric = loop["searcher_metric"]
            logger.info("going on after batch %d", self._state.batches_trained)

    def run(self) -> None:
        """Executes actions until there is none left."""
        try:
            while self.step():
                pass
        except BaseException:
            self._saver.finish()
            raise
        if self._board is not None:
            self._board.close()

    def step(self) -> bool:
        """Decides and executes one action; returns False after the last."""
        action = self._next()
        self._settle(wait=action.kind not in _WHILE_SAVING)
        if action.kind == "exit":
            return self._exit(action)
        _ACTIONS[action.kind](self, action)
        return True

    def _next(self) -> Action:
        return self._rules.next_action(
            self._config,
            self._state,
            self._lengths,
            self._closed,
            self._client.preempt_requested(),
            self._stop or self._context.get_stop_requested(),
        )

    def _settle(self, *, wait: bool) -> None:
        """Tells all ranks of a checkpoint that is stored now. Raises if it could not be stored."""
        uuid = self._saver.settled(wait=wait)
        if uuid is not None:
            self._ranks.announce(("stored", uuid))
            self._controller.stored(uuid)

    def _train(self, action: Action) -> None:
        self._report_state("training")
        self._ranks.announce(("train", action.batches))
        averages, batches = self._controller.train(action.batches)
        self._stop, records = _agree(self._context, self._controller)
        self._state.batches_trained += action.batches
        trained = self._state.batches_trained
        self._client.report_training(trained, _metrics.to_json(averages), _metrics.to_json(batches), records)
        if self._board is not None:
            self._board.training(trained, averages)
        if self._lengths and self._lengths[-1] > 0:
            self._client.report_progress(min(1.0, trained / self._lengths[-1]))

    def _validate(self, action: Action) -> None:
        self._report_state("validating")
        state = self._state
        self._ranks.announce(("validate", None))
        metrics = self._controller.validate()
        self._stop, records = _agree(self._context, self._controller)
        metrics, value = self._compared(metrics)
        best = self._client.best_validation()
        self._client.report_validation(state.batches_trained, _metrics.to_json(metrics), records)
        if self._board is not None:
            self._board.validation(state.batches_trained, metrics)
        self._searcher_metric = value
        state.validate(value, self._config.smaller_is_better, best)

    def _compared(self, metrics: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Returns the metrics that can be reported, and the searcher's metric."""
        kept = _metrics.check_validation(metrics, logger.warning)
        return kept, _metrics.searcher_value(self._context.get_experiment_config().get_searcher_metric(), kept)

    def _checkpoint(self, action: Action) -> None:
        self._report_state("checkpointing")
        state = self._state
        state.batches_checkpointed = state.batches_trained
        uuid = self._new_uuid()
        self._ranks.announce(("checkpoint", uuid))
        snapshot = self._controller.snapshot({"state": state.to_dict(), "searcher_metric": self._searcher_metric})
        reported = {
            "steps_completed": state.batches_trained,
            "determined_version": __version__,
            **self._controller.checkpoint_format(),
        }
        pending = Pending(
            uuid=uuid,
            batches=state.batches_trained,
            reason=action.reason,
            metadata_json=_metrics.to_json(reported),
            description_json=_metrics.to_json(self._describe(reported)),
        )
        in_background = self._controller.saves_in_background() and self._next().kind in _WHILE_SAVING
        self._saver.save(pending, snapshot, in_background=in_background)
        self._settle(wait=not in_background)

    def _describe(self, reported: Mapping[str, Any]) -> dict[str, Any]:
        """The content of ``metadata.json``, which describes the files without a master."""
        env = self._context.env
        return {
            "experiment_id": env.experiment_id,
            "trial_id": env.trial_id,
            "hparams": env.hparams,
            "experiment_config": env.experiment_config,
            **reported,
            "metadata": {},
        }

    def _complete_operation(self, action: Action) -> None:
        value = self._searcher_metric
        if value is None or math.isnan(value):
            name = self._context.get_experiment_config().get_searcher_metric()
            raise ValueError(
                f"validation metric {name!r} is {value} after batch {self._state.batches_trained}; "
                "the searcher needs a number"
            )
        self._client.complete_operation(action.length, value)
        self._state.operations_done += 1

    def _wait(self, action: Action) -> None:
        if self._lengths:
            self._report_state("waiting")
        operations = self._client.operations(len(self._lengths), WAIT_SECONDS)
        self._lengths = list(operations.lengths)
        self._closed = operations.closed
        self._ranks.announce(("wait", None))

    def _exit(self, action: Action) -> bool:
        """Returns True if the trial does not end, because it was only paused."""
        self._client.flush()
        if action.preempted and self._waited_to_go_on():
            return True
        self._ranks.announce(("exit", None))
        if action.preempted:
            return False
        if self._stop or self._context.get_stop_requested():
            self._client.report_early_exit("EXITED_REASON_USER_REQUESTED_STOP")
        else:
            logger.info("finished after batch %d", self._state.batches_trained)
        return False

    def _waited_to_go_on(self) -> bool:
        """Releases the slots after everything is saved, and waits here for as long as the master wants."""
        logger.info("paused after batch %d", self._state.batches_trained)
        self._client.acknowledge_preemption(True)
        while (wish := self._client.wish(PAUSE_SECONDS)) == "wait":
            self._report_state("waiting")
            self._ranks.announce(("wait", None))
        if wish == "go_on":
            logger.info("going on after batch %d, in the same process", self._state.batches_trained)
        return wish == "go_on"

    def _report_state(self, state: str) -> None:
        if state != self._reported_state:
            self._client.report_state(state)
            self._reported_state = state


class Follower:
    """Runs on the ranks other than the chief, and executes what the chief says."""

    def __init__(self, *, context: TrialContext, controller: TrialController, storage: CheckpointStorage) -> None:
        self._context = context
        self._controller = controller
        self._storage = storage

    def start(self) -> None:
        """See ``Loop.start``."""
        _start(self._context, self._controller, self._storage)

    def run(self) -> None:
        """Follows the chief to the end."""
        while self.step():
            pass

    def step(self) -> bool:
        """Executes one command of the chief; returns False after the last."""
        kind, value = self._context.distributed.announce(None)
        if kind == "exit":
            return False
        if kind == "wait":
            return True
        if kind == "checkpoint":
            self._controller.contribute()
            return True
        if kind == "stored":
            self._controller.stored(value)
            return True
        if kind == "train":
            self._controller.train(value)
        else:
            self._controller.validate()
        _agree(self._context, self._controller)
        return True


def _agree(context: TrialContext, controller: TrialController) -> tuple[bool, int]:
    """Whether the trial requested its stop on any rank, and the number of records on all ranks."""
    of_ranks = context.distributed.allgather((context.get_stop_requested(), controller.records))
    return any(stops for stops, _ in of_ranks), sum(records for _, records in of_ranks)


def _start(context: TrialContext, controller: TrialController, storage: CheckpointStorage) -> dict[str, Any] | None:
    env = context.env
    verifies = context.distributed.local_rank == 0  # once on each machine
    with _checkpoint_directory(storage, env.latest_checkpoint, verifies=verifies) as directory:
        return controller.start(directory, env.latest_checkpoint, weights_only=env.warm_start)


@contextlib.contextmanager
def _checkpoint_directory(storage: CheckpointStorage, uuid: str | None, *, verifies: bool) -> Iterator[str | None]:
    """The files of a checkpoint: in place if the storage is a file system, otherwise in a temporary copy."""
    if uuid is None:
        yield None
        return
    place = storage.place(uuid)
    if place is not None:
        with _verified(storage, uuid) if verifies else contextlib.nullcontext():
            yield place
        return
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
        storage.restore(uuid, directory)
        yield directory


@contextlib.contextmanager
def _verified(storage: CheckpointStorage, uuid: str) -> Iterator[None]:
    """Compares the files with what was saved while they are read. Raises at the end; damage explains other errors."""
    verification = Background("verify")
    verification.start(lambda: storage.verify(uuid))
    try:
        yield
    finally:
        verification.wait()


_WHILE_SAVING = ("train", "validate")
"""What a trial does while a checkpoint is on its way. All other actions need it to be stored."""

_ACTIONS: Mapping[str, Callable[[Loop, Action], None]] = {
    "train": Loop._train,
    "validate": Loop._validate,
    "checkpoint": Loop._checkpoint,
    "complete_operation": Loop._complete_operation,
    "wait": Loop._wait,
}
