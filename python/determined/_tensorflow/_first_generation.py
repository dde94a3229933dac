"""Lets old code mean TensorFlow 1 when it says ``import tensorflow as tf``.

Only where the experiment asks for it, by an image of the original's that holds TensorFlow 1
(``environment.image: …-tf-1.15-…``): it changes what ``tensorflow`` is for the whole process. A Keras trial
needs the second generation and is left alone; ``tf.contrib`` is gone for good.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger("determined")

_FAMILIES = ("determined.estimator._controller", "determined.tensorpack._controller")
_IMAGE = re.compile(r"(^|[-:/])tf-1\.\d")


def wanted(config: Mapping[str, Any]) -> bool:
    """Whether the experiment's image holds TensorFlow 1."""
    environment = config.get("environment")
    image = environment.get("image") if isinstance(environment, Mapping) else None
    images = image.values() if isinstance(image, Mapping) else [image]
    return any(isinstance(one, str) and _IMAGE.search(one) is not None for one in images)


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
    logger.info("environment.image names TensorFlow 1: `import tensorflow` imports tensorflow.compat.v1 in this trial")
