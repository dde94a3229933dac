"""The interface of the C++ trial runtime, ``determined._runtime``.

The runtime is ``src/trial``, compiled into ``determined._native``. This file is the contract between the two: the
module implements exactly these names, and :mod:`determined._run._local` implements ``Client`` and
``CheckpointStorage`` without a master.

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

Periods are counted from batch 0, not from the last validation or checkpoint, so that an additional checkpoint (for a
pause) does not move the boundaries of later training reports: an interrupted run reports the same chunks as an
uninterrupted one.

The caller updates the state: after ``train``, it adds to ``batches_trained``; after ``validate``, it calls
``state.validate``; **before** writing a checkpoint, it sets ``batches_checkpointed``; after ``complete_operation``, it
adds one to ``operations_done``.

Metrics are passed as JSON objects. Because JSON has no NaN, use the strings ``"NaN"``, ``"Infinity"`` and
``"-Infinity"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

ActionKind = Literal["train", "validate", "checkpoint", "complete_operation", "wait", "exit"]
CheckpointPolicy = Literal["best", "all", "none"]

EXIT_GONE = 80
"""The exit status of a process whose allocation the master has ended."""


class Operations(Protocol):
    """The searcher's operations so far. ``lengths`` are ascending totals of batches to train to."""

    @property
    def lengths(self) -> list[int]: ...
    @property
    def completed(self) -> int: ...
    @property
    def closed(self) -> bool: ...


class Client(Protocol):
    """The connection to the master; each process has one. Calls that block release the GIL.

    Every call may raise ``Gone``. The C++ class has a static method ``from_environment()``, which uses the ``DET_*``
    variables.
    """

    def operations(self, known: int, timeout_seconds: float) -> Operations:
        """Waits until there are more than ``known`` operations, the trial is closed, or preemption is requested."""

    def complete_operation(self, length: int, metric: float) -> None:
        """Durable on return. Repeating the same call changes nothing."""

    def report_training(self, batches: int, avg_metrics_json: str, batch_metrics_json: str, records: int = 0) -> None:
        """Queues the report; blocks only while the queue is full. ``batches`` is the total number of batches after the
        chunk, ``records`` the number of records of the chunk over all slots; 0 if they are not counted."""

    def report_validation(self, batches: int, metrics_json: str, records: int = 0) -> None:
        """Durable on return, and so is everything that was queued before."""

    def report_progress(self, fraction: float) -> None: ...
    def report_state(self, state: str) -> None: ...
    def begin_checkpoint(self, uuid: str) -> None:
        """Durable on return. Call it before storing the first file: if the checkpoint is never reported, its files are
        deleted when the experiment ends."""

    def report_checkpoint(self, uuid: str, batches: int, resources: Mapping[str, int], metadata_json: str) -> None:
        """Durable on return. Call it after all files are in storage."""

    def report_early_exit(self, reason: str) -> None:
        """``EXITED_REASON_INVALID_HP``, ``EXITED_REASON_INIT_INVALID_HP`` or ``EXITED_REASON_USER_REQUESTED_STOP``."""

    def preempt_requested(self) -> bool:
        """Reads an atomic variable, so it costs nothing."""

    def acknowledge_preemption(self, can_wait: bool = False) -> None:
        """``can_wait`` says that everything is saved and that this process could continue later where it is."""

    def wish(self, timeout_seconds: float) -> str:
        """What to do after ``acknowledge_preemption(True)``: ``go_on``, ``leave``, or ``wait`` after the timeout."""

    def best_validation(self) -> float | None:
        """The experiment's best searcher metric before this trial's next report; None before the first report."""

    def flush(self) -> None:
        """Waits until everything queued is durable."""

    def close(self) -> None:
        """Flushes, and ends the threads. May be called several times."""


class RankClient(Client, Protocol):
    """A ``Client`` for several ranks, through which rank 0 publishes its address. The C++ class implements it."""

    def report_environment(self, rank: int, environment_json: str) -> None:
        """Queues the record; at most once per rank. If the master refuses it, this is only logged."""

    def publish_rendezvous(self, addresses: Sequence[str]) -> None:
        """Publishes the addresses of rank 0 as ``host:port``; not every rank may be able to reach every address."""

    def rendezvous(self, timeout_seconds: float) -> list[str]:
        """Returns the addresses of rank 0; empty if it has published none within the timeout."""


class CheckpointStorage(Protocol):
    """Storage of checkpoints. The C++ class has a static method ``from_config_json(json, container_root)``."""

    def save(self, directory: str, uuid: str) -> Mapping[str, int]:
        """Copies a directory, all or nothing. Returns the size in bytes of each file by its relative path."""

    def restore(self, uuid: str, directory: str) -> None:
        """Downloads a checkpoint into an empty directory."""

    def draft(self, uuid: str) -> str:
        """Returns a new empty directory for the files of a checkpoint."""

    def publish(self, uuid: str, draft: str) -> Mapping[str, int]:
        """Like ``save``, of what is in a draft, which is gone afterwards, also after an error."""

    def drop(self, draft: str) -> None:
        """Deletes a draft."""

    def verify(self, uuid: str) -> None:
        """Compares every file of a checkpoint with what was saved."""

    def place(self, uuid: str) -> str | None:
        """Returns the directory of a checkpoint if the storage is a file system; otherwise None.

        The C++ class also has ``probe()``, which raises an error if nothing can be saved.
        """


class LoopConfig(Protocol):
    """The settings of the loop. The constructor takes keyword arguments of these names. A period of 0 is off."""

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
    """The state of a trial. Checkpoints contain the result of ``to_dict``; the static method ``from_dict`` reads it.

    The constructor takes keyword arguments of these names, with the defaults of a new trial.
    """

    batches_trained: int
    batches_validated: int
    """The total number of batches at the last validation; -1 before the first."""
    batches_checkpointed: int
    """The total number of batches at the last checkpoint; -1 before the first."""
    operations_done: int
    best: float | None
    validation_is_best: bool

    def validate(self, metric: float, smaller_is_better: bool, experiment_best: float | None = None) -> None:
        """Records a validation. It is the best unless this trial or the experiment has a better one; NaN never is."""

    def to_dict(self) -> dict[str, int | float | bool | None]: ...


class Action(Protocol):
    """The next action. Fields that its kind does not use are 0, empty or False."""

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
    """Returns the next action, by the rules above. A pure function."""

    def __call__(
        self, config: Any, state: Any, lengths: Sequence[int], closed: bool, preempt: bool, stop_requested: bool
    ) -> Action: ...
