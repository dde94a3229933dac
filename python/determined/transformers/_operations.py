"""The searcher's operations, as a Trainer sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined import _operations
from determined.core._context import Context
from determined.core._searcher import Unit


class Operations(_operations.Operations):
    """What a Trainer's arguments must fit, and how far its state says that it is."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._begun = False
        if self._unit is Unit.RECORDS:
            raise ValueError("searcher.max_length is in records; a Trainer counts batches (its steps) or epochs")

    def begin(self) -> bool:
        """Gets the first operation; False if there is none left."""
        if self.length is None or self._begun:
            return True
        self._begun = True
        return self.next()

    def done_by(self, state: Any) -> float:
        return float(self.done(state.epoch or 0.0, state.global_step))

    def reached_by(self, state: Any) -> bool:
        return self.reached(self.done_by(state))

    def check(self, args: Any) -> None:
        """Checks that the Trainer trains at least as far as the searcher may want it to.

        Raises:
            ValueError: it does not.
        """
        if self.length is None:
            return
        longest = next(iter(self.length.values())) if isinstance(self.length, Mapping) else self.length
        name, own = ("num_train_epochs", args.num_train_epochs) if self.in_epochs else ("max_steps", args.max_steps)
        if self.in_epochs and args.max_steps > 0:
            return  # they have precedence over epochs; how many those are is known only when the data is
        if 0 < own < longest:
            word = "epochs" if self.in_epochs else "batches"
            raise ValueError(
                f"TrainingArguments.{name} is {own}, but searcher.max_length is {longest} {word}; the Trainer must "
                "train at least as far as the searcher may want it to"
            )
