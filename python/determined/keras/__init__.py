"""Keras: a callback for ``model.fit()`` of any Keras, and trials that train a ``tf.keras`` model.

The callbacks ``DeterminedCallback`` and ``TensorBoard`` need Keras 3 with any backend, or ``tf.keras``. The trial
classes need TensorFlow 2.15 or older, which trials on the cluster get automatically. Both are imported when a name of
this package is first used.
"""

from typing import Any

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
    "DeterminedCallback",
    "InputData",
    "SequenceAdapter",
    "TFKerasContext",
    "TFKerasExperimentalContext",
    "TFKerasNativeContext",
    "TFKerasTensorBoard",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TFKerasTrialController",
    "TensorBoard",
    "callbacks",
    "load_model_from_checkpoint_path",
]

_of_tensorflow = _lazy.names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in ("DeterminedCallback", "TensorBoard"):
        from determined.keras import _callback

        return getattr(_callback, name)
    return _of_tensorflow(name)
