"""The searcher's operations, as a Trainer sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.core._context import Context
from determined.core._searcher import SearcherOperation, Unit


class Operations:
    """How far the searcher wants the Trainer to train before it validates and saves.

    Without ``searcher.max_length``, the Trainer trains as far as its own arguments say.
    """

    def __init__(self, context: Context, searcher: Mapping[str, Any]) -> None:
        self.metric: str | None = searcher.get("metric")
        self.length = searcher.get("max_length")
        self._unit = context.searcher.get_configured_units()
        self._source = iter(context.searcher.operations()) if self.length is not None else None
        self._begun = False
        self.current: SearcherOperation | None = None
        if self._unit is Unit.RECORDS:
            raise ValueError("searcher.max_length is in records; a Trainer counts batches (its steps) or epochs")

    @property
    def in_epochs(self) -> bool:
        return self._unit is Unit.EPOCHS

    def begin(self) -> bool:
        """Gets the first operation; False if there is none left."""
        if self._source is None or self._begun:
            return True
        self._begun = True
        return self.next()

    def next(self) -> bool:
        """Gets the next operation, and waits for it; False if there is none left."""
        self.current = next(self._source, None) if self._source is not None else None
        return self.current is not None

    def done(self, state: Any) -> float:
        """How much is trained, in the unit of the lengths."""
        return float((state.epoch or 0.0) if self.in_epochs else state.global_step)

    def reached(self, state: Any) -> bool:
        return self.current is not None and self.done(state) >= self.current.length

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
