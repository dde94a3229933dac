"""Determined: train, search and keep deep-learning models.

``determined.pytorch`` and its siblings import their framework; this package imports no framework.
"""

import importlib
from typing import Any

from determined import errors, util
from determined._definition._entrypoint import importable as import_from_path
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._hyperparameters import Categorical, Constant, Double, Integer, Log
from determined._info import ClusterInfo, TrialInfo, get_cluster_info
from determined._ranks._distributed import DistributedContext
from determined._train_context import NativeContext, TrialContext
from determined._trial import Trial, TrialController
from determined._version import __version__
from determined.errors import InvalidHP

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"
"""A format for ``logging.basicConfig`` in scripts: the level comes first, as the master expects it."""

_PACKAGES = ("core", "estimator", "experimental", "keras", "pytorch", "tensorpack")

LegacyTrial = Trial
"""The name that some releases have for :class:`Trial`."""


def __getattr__(name: str) -> Any:
    """Imports submodules such as ``det.core`` when they are first used."""
    if name in _PACKAGES:
        return importlib.import_module(f"determined.{name}")
    raise AttributeError(f"module 'determined' has no attribute {name!r}")


__all__ = [
    "LOG_FORMAT",
    "Categorical",
    "ClusterInfo",
    "Constant",
    "DistributedContext",
    "Double",
    "EnvContext",
    "ExperimentConfig",
    "Integer",
    "InvalidHP",
    "LegacyTrial",
    "Log",
    "NativeContext",
    "Trial",
    "TrialContext",
    "TrialController",
    "TrialInfo",
    "__version__",
    "errors",
    "get_cluster_info",
    "import_from_path",
    "util",
]
