"""Trials that train a ``tf.keras`` model.

Needs TensorFlow 2.15 or older, which trials on the cluster get automatically. It is imported when a name of this
package is first used.
"""

from determined import _lazy

_HOMES = {
    "ArrayLike": "_data",
    "InputData": "_data",
    "SequenceAdapter": "_data",
    "TFKerasContext": "_context",
    "TFKerasExperimentalContext": "_experimental",
    "TFKerasNativeContext": "_native",
    "TFKerasTensorBoard": "callbacks",
    "TFKerasTrial": "_controller",  # not _trial: importing _controller makes the class runnable
    "TFKerasTrialContext": "_context",
    "TFKerasTrialController": "_controller",
    "callbacks": "",
    "load_model_from_checkpoint_path": "_load",
}

__all__ = [  # resolved by __getattr__
    "ArrayLike",
    "InputData",
    "SequenceAdapter",
    "TFKerasContext",
    "TFKerasExperimentalContext",
    "TFKerasNativeContext",
    "TFKerasTensorBoard",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TFKerasTrialController",
    "callbacks",
    "load_model_from_checkpoint_path",
]

__getattr__ = _lazy.names(__name__, _HOMES)
