"""The name of :mod:`determined.core` in 0.17, with that release's names of its parts."""

from __future__ import annotations

from typing import Any

from determined.core import Context
from determined.core import init as _init

__all__ = ["Context", "init"]


def init(**options: Any) -> Context:
    """Like :func:`determined.core.init`, with the additional names ``training``, ``checkpointing``, ``preemption``."""
    context = _init(**options)
    vars(context).update(training=context.train, checkpointing=context.checkpoint, preemption=context.preempt)
    return context
