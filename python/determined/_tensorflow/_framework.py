"""Imports TensorFlow, or raises an error that says how to install it."""

from __future__ import annotations

import importlib
import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

_HELP = (
    "it is not installed. On the cluster, trials get it automatically if the module of their entry point imports "
    "determined.estimator, determined.keras or determined.tensorpack; elsewhere, install determined[tensorflow]"
)


def load(name: str, why: str) -> Any:
    """Imports a package that ``why`` needs, such as ``tensorflow``.

    Raises:
        ImportError: it is not installed, or is a TensorFlow without estimators.
    """
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise
        raise ImportError(f"{why} needs {name}; {_HELP}", name=name) from None
    if name == "tensorflow":
        release = tuple(int(part) for part in module.__version__.split(".")[:2])
        if release > (2, 15):
            raise ImportError(
                f"{why} needs TensorFlow 2.15 or older; this is {module.__version__}, which no longer has estimators; "
                "install an older one",
                name=name,
            )
        module.compat.v1.logging.set_verbosity(module.compat.v1.logging.WARN)
        # All names of TensorFlow 1 are deprecated; the platform uses them on purpose.
        deprecation: Any = importlib.import_module("tensorflow.python.util.deprecation")
        deprecation._PRINT_DEPRECATION_WARNINGS = False
    return module


tf = load("tensorflow", "this kind of trial")
v1 = tf.compat.v1
