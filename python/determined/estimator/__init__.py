"""Trials that train a ``tf.estimator.Estimator``.

Needs TensorFlow 2.15 or older, which trials on the cluster get automatically. It is imported when a name of this
package is first used. Estimators run with the behavior of TensorFlow 1 (``disable_v2_behavior``).
"""

from determined import _lazy

_HOMES = {
    "EstimatorContext": "_context",
    "EstimatorExperimentalContext": "_experimental",
    "EstimatorNativeContext": "_native",
    "EstimatorTrial": "_controller",  # not _trial: importing _controller makes the class runnable
    "EstimatorTrialContext": "_context",
    "EstimatorTrialController": "_controller",
    "MetricReducer": "_metric",
    "RunHook": "_hooks",
    "ServingInputReceiverFn": "_trial",
    "load_estimator_from_checkpoint_path": "_load",
}

__all__ = [  # resolved by __getattr__
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
