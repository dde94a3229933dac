"""The searcher's operations, as the training loop of a library follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.core._context import Context
from determined.core._searcher import SearcherOperation, Unit


class Operations:
    """How far the searcher wants a training to go before it validates and saves.

    Without ``searcher.max_length``, the library trains as far as its own arguments say.
    """

    def __init__(self, context: Context) -> None:
        searcher: Mapping[str, Any] = {}
        if context.info is not None:
            searcher = context.info.trial.experiment_config.get("searcher") or {}
        self.metric: str | None = searcher.get("metric")
        self.length = searcher.get("max_length")
        self.current: SearcherOperation | None = None
        """None without ``searcher.max_length``, before the first and after the last operation."""
        self._unit = context.searcher.get_configured_units()
        self._chief = context.distributed.rank == 0
        self._source = iter(context.searcher.operations()) if self.length is not None else None

    @property
    def in_epochs(self) -> bool:
        return self._unit is Unit.EPOCHS

    def done(self, epochs: Any, batches: Any) -> Any:
        """How much is trained, in the unit of the lengths."""
        return epochs if self.in_epochs else batches

    def reached(self, done: float) -> bool:
        return self.current is not None and done >= self.current.length

    def next(self) -> bool:
        """Gets the next operation, and waits for it; False if there is none left."""
        self.current = next(self._source, None) if self._source is not None else None
        return self.current is not None

    def next_while_reached(self, done: float, metrics: Mapping[str, Any], missing: str) -> bool:
        """Completes what is reached, and gets the next operation; False if there is none left.

        ``missing`` is said if the searcher's metric is not among the metrics of the last validation.

        Raises:
            KeyError: it is not.
        """
        while self.current is None or self.reached(done):
            if self.current is not None and self._chief:
                if self.metric is None or self.metric not in metrics:
                    raise KeyError(f"searcher.metric is {self.metric!r}, but {missing}")
                self.current.report_completed(metrics[self.metric])
            if not self.next():
                return False
        return True
