"""Experiments, trials, checkpoints and models of a master, and trial classes run by hand for debugging."""

from determined.experimental import client, estimator, keras
from determined.experimental._checkpoint import Checkpoint
from determined.experimental._checkpoint_fields import ModelFramework
from determined.experimental._create import Mode, create
from determined.experimental._debug import create_trial_instance, test_one_batch
from determined.experimental._determined import Determined
from determined.experimental._experiment import Experiment, ExperimentReference, Trial
from determined.experimental._model import Model
from determined.experimental._model_version import ModelVersion
from determined.experimental._order import ModelOrderBy, ModelSortBy, OrderBy, TrialOrderBy, TrialSortBy
from determined.experimental._project import Project
from determined.experimental.client import TrialReference

__all__ = [
    "Checkpoint",
    "Determined",
    "Experiment",
    "ExperimentReference",
    "Mode",
    "Model",
    "ModelFramework",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "Trial",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "client",
    "create",
    "create_trial_instance",
    "estimator",
    "keras",
    "test_one_batch",
]
