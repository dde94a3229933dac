"""The C++ trial runtime as classes; what they promise stands in :mod:`determined._runtime_api`.

``determined._native`` has functions only, in Python's stable ABI: one compiled file serves every version of Python.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from determined import _native
from determined._native import Gone as Gone
from determined._native import available_memory as available_memory
from determined._native import new_uuid as new_uuid


class Operations(NamedTuple):
    """The searcher's operations so far."""

    lengths: list[int]
    completed: int
    closed: bool


class Client:
    """What a trial process says to its master and hears from it."""

    def __init__(self, handle: object) -> None:
        self._handle = handle

    @staticmethod
    def from_environment() -> Client:
        return Client(_native.client_from_environment())

    def operations(self, known: int, timeout_seconds: float) -> Operations:
        return Operations(*_native.client_operations(self._handle, known, timeout_seconds))

    def complete_operation(self, length: int, metric: float) -> None:
        _native.client_complete_operation(self._handle, length, metric)

    def report_training(self, batches: int, avg_metrics_json: str, batch_metrics_json: str, records: int = 0) -> None:
        _native.client_report_training(self._handle, batches, avg_metrics_json, batch_metrics_json, records)

    def report_validation(self, batches: int, metrics_json: str, records: int = 0) -> None:
        _native.client_report_validation(self._handle, batches, metrics_json, records)

    def report_progress(self, fraction: float) -> None:
        _native.client_report_progress(self._handle, fraction)

    def report_state(self, state: str) -> None:
        _native.client_report_state(self._handle, state)

    def report_environment(self, rank: int, environment_json: str) -> None:
        _native.client_report_environment(self._handle, rank, environment_json)

    def begin_checkpoint(self, uuid: str) -> None:
        _native.client_begin_checkpoint(self._handle, uuid)

    def report_checkpoint(self, uuid: str, batches: int, resources: Mapping[str, int], metadata_json: str) -> None:
        _native.client_report_checkpoint(self._handle, uuid, batches, resources, metadata_json)

    def report_early_exit(self, reason: str) -> None:
        _native.client_report_early_exit(self._handle, reason)

    def preempt_requested(self) -> bool:
        return _native.client_preempt_requested(self._handle)

    def acknowledge_preemption(self, can_wait: bool = False) -> None:
        _native.client_acknowledge_preemption(self._handle, can_wait)

    def wish(self, timeout_seconds: float) -> str:
        return _native.client_wish(self._handle, timeout_seconds)

    def best_validation(self) -> float | None:
        return _native.client_best_validation(self._handle)

    def publish_rendezvous(self, addresses: Sequence[str]) -> None:
        _native.client_publish_rendezvous(self._handle, addresses)

    def rendezvous(self, timeout_seconds: float) -> list[str]:
        return _native.client_rendezvous(self._handle, timeout_seconds)

    def flush(self) -> None:
        _native.client_flush(self._handle)

    def close(self) -> None:
        _native.client_close(self._handle)


class LoopConfig:
    """What of the configuration decides the order of a trial's work. A period of 0 is off."""

    __slots__ = ("_values",)

    def __init__(
        self,
        *,
        scheduling_unit: int = 100,
        min_validation_period: int = 0,
        min_checkpoint_period: int = 0,
        checkpoint_policy: str = "best",
        perform_initial_validation: bool = False,
        smaller_is_better: bool = True,
    ) -> None:
        self._values = (
            scheduling_unit,
            min_validation_period,
            min_checkpoint_period,
            checkpoint_policy,
            perform_initial_validation,
            smaller_is_better,
        )
        _native.check_config(*self._values)

    @property
    def scheduling_unit(self) -> int:
        return self._values[0]

    @property
    def min_validation_period(self) -> int:
        return self._values[1]

    @property
    def min_checkpoint_period(self) -> int:
        return self._values[2]

    @property
    def checkpoint_policy(self) -> str:
        return self._values[3]

    @property
    def perform_initial_validation(self) -> bool:
        return self._values[4]

    @property
    def smaller_is_better(self) -> bool:
        return self._values[5]


class LoopState:
    """How far a trial is; saved in each of its checkpoints."""

    def __init__(
        self,
        *,
        batches_trained: int = 0,
        batches_validated: int = -1,
        batches_checkpointed: int = -1,
        operations_done: int = 0,
        best: float | None = None,
        validation_is_best: bool = False,
    ) -> None:
        self.batches_trained = batches_trained
        self.batches_validated = batches_validated
        self.batches_checkpointed = batches_checkpointed
        self.operations_done = operations_done
        self.best = best
        self.validation_is_best = validation_is_best

    def validate(self, metric: float, smaller_is_better: bool, experiment_best: float | None = None) -> None:
        self.batches_validated, self.best, self.validation_is_best = _native.validate(
            *self._values(), metric, smaller_is_better, experiment_best
        )

    def to_dict(self) -> dict[str, int | float | bool | None]:
        return dict(vars(self))

    @staticmethod
    def from_dict(values: Mapping[str, int | float | bool | None]) -> LoopState:
        """Raises: ValueError where the numbers do not add up."""
        state = LoopState()
        for name, fresh in state.to_dict().items():
            setattr(state, name, values.get(name, fresh))
        if state.best is not None:
            state.best = float(state.best)  # "NaN" from a JSON file, too
        _native.check_state(*state._values())
        return state

    def _values(self) -> tuple[int, int, int, int, float | None, bool]:
        return (
            self.batches_trained,
            self.batches_validated,
            self.batches_checkpointed,
            self.operations_done,
            self.best,
            self.validation_is_best,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopState) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LoopState({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


class Action(NamedTuple):
    """What to do next."""

    kind: str
    batches: int
    reason: str
    length: int
    preempted: bool


def next_action(
    config: LoopConfig,
    state: LoopState,
    lengths: Sequence[int],
    closed: bool,
    preempt: bool,
    stop_requested: bool,
) -> Action:
    """What a trial does next: see det/trial/plan.h."""
    known = (*config._values, *state._values(), lengths)
    return Action(*_native.next_action(*known, closed, preempt, stop_requested))


_probed: set[tuple[str, str]] = set()


def take_as_probed(storage_json: str, container_root: str) -> None:
    """A fork of this process has probed the storage of this configuration, see :meth:`CheckpointStorage.probe`."""
    _probed.add((storage_json, container_root))


@dataclasses.dataclass(frozen=True)
class CheckpointStorage:
    """Where checkpoints live."""

    _handle: object
    _config: tuple[str, str]

    @staticmethod
    def from_config_json(json: str, container_root: str) -> CheckpointStorage:
        return CheckpointStorage(_native.storage_from_config_json(json, container_root), (json, container_root))

    def save(self, directory: str, uuid: str) -> dict[str, int]:
        return _native.storage_save(self._handle, directory, uuid)

    def restore(self, uuid: str, directory: str) -> None:
        _native.storage_restore(self._handle, uuid, directory)

    def draft(self, uuid: str) -> str:
        """A new empty directory for the files of a checkpoint, in the storage if that is a file system."""
        return _native.storage_draft(self._handle, uuid)

    def publish(self, uuid: str, draft: str) -> dict[str, int]:
        """Like :meth:`save`, of what is in a draft, which is gone afterwards, also after an error."""
        return _native.storage_publish(self._handle, uuid, draft)

    def drop(self, draft: str) -> None:
        """Deletes a draft."""
        shutil.rmtree(draft, ignore_errors=True)

    def place(self, uuid: str) -> str | None:
        """The directory of a checkpoint; None for a bucket, from which :meth:`restore` fetches."""
        return _native.storage_place(self._handle, uuid)

    def verify(self, uuid: str) -> None:
        """Compares every file with its manifest; fails on the first that differs."""
        _native.storage_verify(self._handle, uuid)

    def remove(self, uuid: str) -> None:
        _native.storage_remove(self._handle, uuid)

    def probe(self) -> None:
        """Fails if nothing can be saved here. Tries it once in a process, which may run several trials."""
        if self._config not in _probed:
            _native.storage_probe(self._handle)
            _probed.add(self._config)


@dataclasses.dataclass(frozen=True)
class ObjectStore:
    """A bucket: objects by their keys."""

    _handle: object

    @staticmethod
    def from_config_json(json: str) -> ObjectStore:
        return ObjectStore(_native.bucket_from_config_json(json))

    def put(self, key: str, path: str) -> None:
        """Stores a file's content."""
        _native.bucket_put(self._handle, key, path)

    def get(self, key: str, path: str) -> None:
        """Writes an object's content to a file, which it replaces when all is there."""
        _native.bucket_get(self._handle, key, path)

    def text(self, key: str) -> bytes:
        return _native.bucket_text(self._handle, key)

    def sizes(self, prefix: str) -> dict[str, int]:
        """The bytes of all objects whose key begins so, by key."""
        return _native.bucket_sizes(self._handle, prefix)

    def remove(self, key: str) -> None:
        _native.bucket_remove(self._handle, key)


AnotherTask = Callable[[Callable[[], None]], bool]
"""Says that the task has succeeded, calls a function that tidies up, and waits: whether there is another task."""


def run_shim(directory: str, task: Callable[[AnotherTask | None], int]) -> int:
    """Becomes the shim of a task directory and returns its exit status when the task has ended; see
    det/agent/shim/shim.h."""
    return _native.run_shim(directory, task)
