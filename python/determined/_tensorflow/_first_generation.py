"""Lets code of TensorFlow 1 mean TensorFlow 1 when it says ``import tensorflow as tf``.

It changes what ``tensorflow`` is for the whole process, so `_era` decides whether the code was written for it. A Keras
trial needs the behavior of TensorFlow 2 and is left alone.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_FAMILIES = ("determined.estimator._controller", "determined.tensorpack._controller")


def switch() -> None:
    """From now on ``tensorflow`` is its first generation's names."""
    for family in _FAMILIES:  # they need both generations, and hold them
        importlib.import_module(family)
    tensorflow: Any = importlib.import_module("tensorflow")
    first: Any = tensorflow.compat.v1
    if tensorflow is first:
        return
    first.__path__ = [*first.__path__, *tensorflow.__path__]  # from tensorflow.keras import layers
    first.python = sys.modules["tensorflow.python"]
    first.compat = tensorflow.compat
    first.disable_v2_behavior()
    sys.modules["tensorflow"] = first
