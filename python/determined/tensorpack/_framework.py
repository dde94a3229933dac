"""Tensorpack itself, or a clear word that it is not there."""

from __future__ import annotations

import logging
from typing import Any

from determined._tensorflow._framework import load, v1

tp: Any = load("tensorpack", "a TensorpackTrial")  # switches off the behaviour of TensorFlow's second generation
logging.getLogger("tensorpack").propagate = False

__all__ = ["tp", "v1"]
