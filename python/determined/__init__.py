"""Determined: train, search and keep deep-learning models.

``determined.pytorch`` and its siblings import their framework; this package imports none.
"""

from determined import errors, util
from determined._distributed import DistributedContext
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._hyperparameters import Categorical, Constant, Double, Integer, Log
from determined._train_context import TrialContext
from determined._trial import Trial, TrialController
from determined._version import __version__
from determined.errors import InvalidHP

__all__ = [
    "Categorical",
    "Constant",
    "DistributedContext",
    "Double",
    "EnvContext",
    "ExperimentConfig",
    "Integer",
    "InvalidHP",
    "Log",
    "Trial",
    "TrialContext",
    "TrialController",
    "__version__",
    "errors",
    "util",
]
