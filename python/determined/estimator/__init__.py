"""Trials that train a ``tf.estimator.Estimator``.

Needs TensorFlow 2.15, which a trial of this family gets by itself; it is imported when a name of this package is first
used. Estimators run as they did in TensorFlow 1: its second generation's behaviour is switched off.
"""

from determined import _lazy

_HOMES = {
    "EstimatorContext": "_context",
    "EstimatorExperimentalContext": "_experimental",
    "EstimatorNativeContext": "_native",
    "EstimatorTrial": "_controller",  # which makes it one that can be run
    "EstimatorTrialContext": "_context",
    "EstimatorTrialController": "_controller",
    "MetricReducer": "_metric",
    "RunHook": "_hooks",
    "ServingInputReceiverFn": "_trial",
    "load_estimator_from_checkpoint_path": "_load",
}

__all__ = [  # they come by __getattr__
    "EstimatorContext",
    "EstimatorExperimentalContext",
    "EstimatorNativeContext",
    "EstimatorTrial",
    "EstimatorTrialContext",
    "EstimatorTrialController",
    "MetricReducer",
    "RunHook",
    "ServingInputReceiverFn",
    "load_estimator_from_checkpoint_path",
]

__getattr__ = _lazy.names(__name__, _HOMES)
