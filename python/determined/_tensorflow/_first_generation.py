"""Makes ``import tensorflow as tf`` import TensorFlow 1 (``tf.compat.v1``), for code that was written for it.

This affects the whole process, so `_era` first decides whether the code was written for TensorFlow 1. Keras trials need
the behavior of TensorFlow 2 and are never switched.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_FAMILIES = ("determined.estimator._controller", "determined.tensorpack._controller")


def switch() -> None:
    """From now on, ``tensorflow`` is ``tensorflow.compat.v1``."""
    for family in _FAMILIES:  # they use both versions; import them before the switch
        importlib.import_module(family)
    tensorflow: Any = importlib.import_module("tensorflow")
    first: Any = tensorflow.compat.v1
    if tensorflow is first:
        return
    first.__path__ = [*first.__path__, *tensorflow.__path__]  # for "from tensorflow.keras import layers"
    first.python = sys.modules["tensorflow.python"]
    first.compat = tensorflow.compat
    first.disable_v2_behavior()
    sys.modules["tensorflow"] = first
