"""The experiments of a master."""

from determined.experimental._experiment import Experiment, ExperimentReference, ExperimentState
from determined.experimental._order import ExperimentOrderBy, ExperimentSortBy, OrderBy

__all__ = ["Experiment", "ExperimentOrderBy", "ExperimentReference", "ExperimentSortBy", "ExperimentState", "OrderBy"]
