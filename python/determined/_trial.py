"""The base of all trial classes."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._train_context import TrialContext


class TrialController(abc.ABC):
    """Drives one trial of one framework: what the loop asks of it."""

    records: int = 0
    """How many records the last ``train`` or ``validate`` went through on this rank; 0 where nobody counts."""

    @abc.abstractmethod
    def __init__(self, trial: Any, context: Any, source: SourceSnapshot | None = None) -> None:
        """Checks the trial and builds what its class leaves to the platform. ``source`` goes into checkpoints."""

    @classmethod
    @abc.abstractmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        """Seeds every generator of the framework and sets its threads, before the trial is built."""

    @abc.abstractmethod
    def start(self, checkpoint: str | None, uuid: str | None, *, weights_only: bool) -> dict[str, Any] | None:
        """Builds data loaders and callbacks, then applies the checkpoint in this directory, if any.

        Returns what the loop gave to ``save``, None where the checkpoint does not say or is only a source of weights.
        """

    @abc.abstractmethod
    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Trains some batches; returns the averages and the metrics of every batch."""

    @abc.abstractmethod
    def validate(self) -> dict[str, Any]:
        """Validates on the whole validation set; leaves every random generator as it found it."""

    @abc.abstractmethod
    def save(self, directory: str, loop: dict[str, Any]) -> dict[str, Any]:
        """Writes the complete state of training, and the loop's, into an empty directory. Returns metadata.

        For the chief; all other ranks call ``contribute`` at the same time.
        """

    def contribute(self) -> None:
        """Gives the chief this rank's part of the checkpoint that it writes."""

    def stored(self, uuid: str) -> None:
        """After a checkpoint is in storage."""

    def close(self) -> None:
        """After the last action, also when training failed."""


class Trial(abc.ABC):
    """Base of the trial classes that users subclass, one for each framework."""

    trial_controller_class: ClassVar[type[TrialController] | None] = None
    trial_context_class: ClassVar[type[TrialContext]] = TrialContext

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Takes the context, by position."""
