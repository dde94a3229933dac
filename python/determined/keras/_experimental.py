"""What may still change, under ``context.experimental``."""

from __future__ import annotations

from typing import Any


class TFKerasExperimentalContext:
    """Cached data sets."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.training_cached = False
