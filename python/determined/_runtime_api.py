"""What Python asks of the C++ trial runtime, ``determined._runtime``.

The runtime is the pybind11 module over ``src/trial``. This file is the contract between the two: the module implements
exactly these names, and :mod:`determined._run._local` implements ``Client`` and ``CheckpointStorage`` without a master.

**The rules of** ``next_action`` (first match wins; ``unsaved`` means
``batches_trained > max(batches_checkpointed, 0)``,
``validated`` means ``batches_validated == batches_trained``; the table is ``python/tests/loop_table.json``):

1. ``preempt`` or ``stop_requested``: ``checkpoint`` (reason ``"preempt"`` or ``"stop"``) if unsaved, else
   ``exit`` with ``preempted = preempt``.
2. ``perform_initial_validation`` and ``batches_trained == 0`` and not validated: ``validate``.
3. validated and unsaved and (policy ``all``, or policy ``best`` and ``validation_is_best``): ``checkpoint``
   (``"validation"``).
4. ``min_validation_period`` P > 0, not validated, and ``batches_trained // P > max(batches_validated, 0) // P``:
   ``validate``.
5. ``min_checkpoint_period`` P > 0, unsaved, and ``batches_trained // P > max(batches_checkpointed, 0) // P``:
   ``checkpoint`` (``"period"``).
6. All operations done (``operations_done >= len(lengths)``): if ``closed``, ``checkpoint`` (``"end"``) if unsaved, else
   ``exit`` with ``preempted = False``; if not closed, ``wait``.
7. The current operation's length L = ``lengths[operations_done]`` is reached: ``checkpoint`` (``"operation"``) if
   unsaved, else ``validate`` if not validated, else ``complete_operation`` (``length = L``).
8. ``train`` n batches, n = the least of L - trained, ``scheduling_unit``, and the way to the next multiple of each
   period that is on.

Periods count in multiples from batch 0, not from the last time, so that an extra checkpoint (a pause) never moves the
boundaries of later training reports: an interrupted run reports the same chunks as an uninterrupted one.

The caller moves the state: after ``train`` adds to ``batches_trained``; after ``validate`` calls ``state.validate``;
**before** it writes a checkpoint sets ``batches_checkpointed``; after
``complete_operation`` adds one to ``operations_done``.

Metrics travel as JSON objects. JSON knows no NaN: the runtime is handed the strings ``"NaN"``, ``"Infinity"`` and
``"-Infinity"`` in their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

ActionKind = Literal["train", "validate", "checkpoint", "complete_operation", "wait", "exit"]
CheckpointPolicy = Literal["best", "all", "none"]

EXIT_GONE = 80
"""The exit status of a process whose allocation the master has ended."""


class Operations(Protocol):
    """The searcher's demands so far: how far to train, as totals of batches that ascend."""

    @property
    def lengths(self) -> list[int]: ...
    @property
    def completed(self) -> int: ...
    @property
    def closed(self) -> bool: ...


class Client(Protocol):
    """One per process. Its threads are inside; calls that block release the GIL.

    Every call may raise ``Gone``. ``from_environment()`` (static) builds the real one from the ``DET_*`` variables.
    """

    def operations(self, known: int, timeout_seconds: float) -> Operations:
        """Waits until there are more than ``known`` operations, the trial is closed or preemption is asked for."""

    def complete_operation(self, length: int, metric: float) -> None:
        """Durable when it returns. Repeating an equal call changes nothing."""

    def report_training(self, batches: int, avg_metrics_json: str, batch_metrics_json: str, records: int = 0) -> None:
        """Queued; blocks only while the queue is full. ``batches`` is the total after the chunk, ``records`` how many
        records the chunk had over all slots, 0 where nobody counts."""

    def report_validation(self, batches: int, metrics_json: str, records: int = 0) -> None:
        """Durable when it returns; what was queued before it is durable too."""

    def report_progress(self, fraction: float) -> None: ...
    def report_state(self, state: str) -> None: ...
    def begin_checkpoint(self, uuid: str) -> None:
        """Durable when it returns. Call it before the first file goes to storage: what is then never reported is
        deleted when the experiment ends."""

    def report_checkpoint(self, uuid: str, batches: int, resources: Mapping[str, int], metadata_json: str) -> None:
        """Durable when it returns. Call it after all files are in storage."""

    def report_early_exit(self, reason: str) -> None:
        """``EXITED_REASON_INVALID_HP``, ``EXITED_REASON_INIT_INVALID_HP`` or ``EXITED_REASON_USER_REQUESTED_STOP``."""

    def preempt_requested(self) -> bool:
        """Reads an atomic; costs nothing."""

    def acknowledge_preemption(self, can_wait: bool = False) -> None:
        """``can_wait``: everything is saved, and this process could go on later from where it is."""

    def wish(self, timeout_seconds: float) -> str:
        """After ``acknowledge_preemption(True)``: ``wait`` (the time is up), ``go_on`` or ``leave``."""

    def best_validation(self) -> float | None:
        """The experiment's best searcher metric before this trial's next report, None before the first."""

    def flush(self) -> None:
        """Returns when everything queued is durable."""

    def close(self) -> None:
        """Flushes and ends the threads. May be called twice."""


class RankClient(Client, Protocol):
    """What the real ``Client`` can besides: rank 0 tells the others where it is."""

    def report_environment(self, rank: int, environment_json: str) -> None:
        """Queued; at most once for each rank. A refusal is only noticed."""

    def publish_rendezvous(self, addresses: Sequence[str]) -> None:
        """Rank 0 says where the others find it: ``host:port``, any of which may work."""

    def rendezvous(self, timeout_seconds: float) -> list[str]:
        """Where rank 0 is found; empty when it has not said so in time."""


class CheckpointStorage(Protocol):
    """Where checkpoints live. ``from_config_json(json, container_root)`` (static) builds the real one."""

    def save(self, directory: str, uuid: str) -> Mapping[str, int]:
        """Copies a directory, all or nothing, and returns relative path to bytes."""

    def restore(self, uuid: str, directory: str) -> None:
        """Fetches a checkpoint into an empty directory."""

    def path(self, uuid: str) -> str | None:
        """A directory to read from in place, where the storage is a file system.

        The real one also has ``probe()``, which raises where nothing can be saved.
        """


class LoopConfig(Protocol):
    """Constructed with keyword arguments of these names. A period of 0 is off."""

    @property
    def scheduling_unit(self) -> int: ...
    @property
    def min_validation_period(self) -> int: ...
    @property
    def min_checkpoint_period(self) -> int: ...
    @property
    def checkpoint_policy(self) -> str: ...
    @property
    def perform_initial_validation(self) -> bool: ...
    @property
    def smaller_is_better(self) -> bool: ...


class LoopState(Protocol):
    """Where a trial is. Stored in every checkpoint through ``to_dict``; ``from_dict`` (static) reads it back.

    Constructed with keyword arguments of these names; all have the defaults of a new trial.
    """

    batches_trained: int
    batches_validated: int
    """Total batches at the last validation, -1 before the first."""
    batches_checkpointed: int
    """Total batches at the last checkpoint, -1 before the first."""
    operations_done: int
    best: float | None
    validation_is_best: bool

    def validate(self, metric: float, smaller_is_better: bool, experiment_best: float | None = None) -> None:
        """A validation was made. It is the best unless this trial or the experiment did better; NaN never is."""

    def to_dict(self) -> dict[str, int | float | bool | None]: ...


class Action(Protocol):
    """What to do next. Fields that do not belong to the kind are 0, empty or False."""

    @property
    def kind(self) -> str: ...
    @property
    def batches(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def length(self) -> int: ...
    @property
    def preempted(self) -> bool: ...


class NextAction(Protocol):
    """Pure."""

    def __call__(
        self, config: Any, state: Any, lengths: Sequence[int], closed: bool, preempt: bool, stop_requested: bool
    ) -> Action: ...
