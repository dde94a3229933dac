"""The base of all trial classes."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._train_context import TrialContext


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The state of a trial at one instant."""

    write: Callable[[str], None]
    """Writes it into an empty directory. Call it before the trial goes on."""
    staged: Callable[[], Callable[[str], None] | None] = lambda: None
    """Copies it. Returns what writes the copy, on any thread and while the trial goes on, until the next copy is made;
    None if it can't be copied."""


class TrialController(abc.ABC):
    """Runs a trial of one framework. The loop calls these methods."""

    records: int = 0
    """The number of records of the last ``train`` or ``validate`` on this rank; 0 if they are not counted."""

    @abc.abstractmethod
    def __init__(self, trial: Any, context: Any, source: SourceSnapshot | None = None) -> None:
        """Checks the trial, and builds its parts. ``source`` is stored in checkpoints."""

    @classmethod
    @abc.abstractmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        """Seeds all generators of the framework and sets its number of threads. Called before the trial is built."""

    @abc.abstractmethod
    def start(self, checkpoint: str | None, uuid: str | None, *, weights_only: bool) -> dict[str, Any] | None:
        """Builds data loaders and callbacks, then loads the checkpoint in this directory, if any.

        Returns the ``loop`` that was passed to ``save``; None with ``weights_only``, or if the checkpoint has none.
        """

    @abc.abstractmethod
    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Trains this number of batches. Returns the averages of the metrics, and the metrics of each batch."""

    @abc.abstractmethod
    def validate(self) -> dict[str, Any]:
        """Validates on the whole validation set. Does not change the state of random number generators."""

    @abc.abstractmethod
    def save(self, directory: str, loop: dict[str, Any]) -> None:
        """Writes the complete state of the trial and of the loop into an empty directory.

        Called on the chief. All other ranks call ``contribute`` at the same time.
        """

    @abc.abstractmethod
    def checkpoint_format(self) -> dict[str, Any]:
        """What the metadata of checkpoints says about their files."""

    def snapshot(self, loop: dict[str, Any]) -> Snapshot:
        """Like ``save``, for a caller who lets the trial go on before all is written."""
        return Snapshot(lambda directory: self.save(directory, loop))

    def saves_in_background(self) -> bool:
        """Whether the trial may go on before a checkpoint is stored: nothing in it depends on that moment."""
        return type(self).stored is TrialController.stored

    def contribute(self) -> None:
        """Sends this rank's part of a checkpoint to the chief, which is in ``save``."""

    def stored(self, uuid: str) -> None:
        """Called after a checkpoint is in storage."""

    def close(self) -> None:
        """Called after the last action, even if training failed."""


class Trial(abc.ABC):
    """The base of the trial classes of all frameworks."""

    trial_controller_class: ClassVar[type[TrialController] | None] = None
    trial_context_class: ClassVar[type[TrialContext]] = TrialContext

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Receives the context as a positional argument."""
