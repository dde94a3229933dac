"""Imports Tensorpack, or raises an error that says how to install it."""

from __future__ import annotations

import logging
from typing import Any

from determined._tensorflow._framework import load, v1

tp: Any = load("tensorpack", "a TensorpackTrial")  # turns off the behavior of TensorFlow 2
logging.getLogger("tensorpack").propagate = False

__all__ = ["tp", "v1"]
