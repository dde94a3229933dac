"""The trials of a master."""

from determined.experimental._experiment import Trial
from determined.experimental._order import OrderBy, TrialOrderBy, TrialSortBy
from determined.experimental._trial import TrialState
from determined.experimental._trial_log import LogLevel
from determined.experimental.client import TrialReference

__all__ = ["LogLevel", "OrderBy", "Trial", "TrialOrderBy", "TrialReference", "TrialSortBy", "TrialState"]
