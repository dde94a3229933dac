"""Trials that train a Tensorpack model.

Needs Tensorpack 0.11 and TensorFlow 2.15 or older, which trials on the cluster get automatically. They are imported
when a name of this package is first used.
"""

from determined import _lazy

_HOMES = {
    "Evaluator": "_evaluator",
    "NamedTensorsEvaluator": "_evaluator",
    "SchedulePoint": "_schedule",
    "ScheduleSetter": "_schedule",
    "TFEventWriter": "_writer",
    "TensorpackTrial": "_controller",  # not _trial: importing _controller makes the class runnable
    "TensorpackTrialController": "_controller",
}

__all__ = [  # resolved by __getattr__
    "Evaluator",
    "NamedTensorsEvaluator",
    "SchedulePoint",
    "ScheduleSetter",
    "TFEventWriter",
    "TensorpackTrial",
    "TensorpackTrialController",
]

__getattr__ = _lazy.names(__name__, _HOMES)
