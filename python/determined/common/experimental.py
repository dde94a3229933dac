"""The name that ``determined.experimental`` has in older programs: the same objects."""

from determined.experimental import (
    Checkpoint,
    Determined,
    ExperimentReference,
    Model,
    ModelOrderBy,
    ModelSortBy,
    TrialReference,
)

__all__ = [
    "Checkpoint",
    "Determined",
    "ExperimentReference",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "TrialReference",
]
