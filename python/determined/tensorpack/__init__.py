"""Trials that train a Tensorpack model.

Needs Tensorpack 0.11 on TensorFlow 2.15 or older, which a trial of this family gets by itself; they are imported when a
name of this package is first used.
"""

from determined import _lazy

_HOMES = {
    "Evaluator": "_evaluator",
    "NamedTensorsEvaluator": "_evaluator",
    "SchedulePoint": "_schedule",
    "ScheduleSetter": "_schedule",
    "TFEventWriter": "_writer",
    "TensorpackTrial": "_controller",  # which makes it one that can be run
    "TensorpackTrialController": "_controller",
}

__all__ = [  # they come by __getattr__
    "Evaluator",
    "NamedTensorsEvaluator",
    "SchedulePoint",
    "ScheduleSetter",
    "TFEventWriter",
    "TensorpackTrial",
    "TensorpackTrialController",
]

__getattr__ = _lazy.names(__name__, _HOMES)
