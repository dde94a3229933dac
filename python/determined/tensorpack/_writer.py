"""Tensorpack's writer of TensorBoard files, with the trial's directory."""

from __future__ import annotations

import logging
from typing import Any

from determined._tensorflow import _board
from determined.tensorpack._framework import tp

logger = logging.getLogger("determined.tensorpack")


def TFEventWriter(*args: Any, **options: Any) -> Any:  # noqa: N802  # it replaces Tensorpack's class
    """A ``tp.callbacks.TFEventWriter`` that writes into the trial's directory. ``logdir`` and ``split_files`` have no
    effect."""
    for name in ("logdir", "split_files"):
        if options.pop(name, None) is not None:
            logger.warning("TFEventWriter: %s is ignored", name)
    if args:
        logger.warning("TFEventWriter: logdir is ignored")
    return tp.callbacks.TFEventWriter(_board.directory(), *args[1:3], **options)
