"""Custom search methods: which trials to run, how far, and when to stop.

::

    class Halves(searcher.SearchMethod):
        def initial_operations(self, state):
            ...

    runner = searcher.LocalSearchRunner(Halves(), searcher_dir="state")
    runner.run("custom.yaml", "model_dir")

``RemoteSearchRunner`` does the same in a trial on a cluster. The experiment's configuration must contain ``searcher:
{name: custom, metric: …, unit: batches}``.
"""

from determined.searcher._local_runner import LocalSearchRunner
from determined.searcher._method import (
    Close,
    Create,
    ExitedReason,
    Operation,
    Progress,
    SearcherState,
    SearchMethod,
    Shutdown,
    ValidateAfter,
)
from determined.searcher._remote_runner import RemoteSearchRunner
from determined.searcher._runner import SearchRunner

__all__ = [
    "Close",
    "Create",
    "ExitedReason",
    "LocalSearchRunner",
    "Operation",
    "Progress",
    "RemoteSearchRunner",
    "SearchMethod",
    "SearchRunner",
    "SearcherState",
    "Shutdown",
    "ValidateAfter",
]
