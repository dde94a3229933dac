"""Makes the premade Estimators of TensorFlow 2 accept optimizers of TensorFlow 1.

``tf.estimator.DNNClassifier(optimizer=tf.compat.v1.train.AdamOptimizer(0.01), …)`` is valid in TensorFlow 1. In
TensorFlow 2, the same name is another class, which accepts only Keras optimizers.
"""

from __future__ import annotations

from typing import Any

from tensorflow_estimator.python.estimator.canned import optimizers

from determined._tensorflow._framework import tf, v1

_instance_of = optimizers.get_optimizer_instance_v2


class _FirstGeneration(tf.keras.optimizers.legacy.Optimizer):  # type: ignore[misc]
    """An optimizer of TensorFlow 1 with the interface of a Keras optimizer, as far as premade Estimators use it."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(name=optimizer.get_name())
        self.optimizer = optimizer

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        # Of the two optimizers of an Estimator, only the one with the global step increments it.
        return [self.optimizer.minimize(loss, global_step=self._iterations, var_list=params)]


def _instance(opt: Any, learning_rate: Any = None) -> Any:
    made = opt() if callable(opt) else opt
    return _FirstGeneration(made) if isinstance(made, v1.train.Optimizer) else _instance_of(made, learning_rate)


def take_both_generations() -> None:
    """Accepts both kinds of optimizers from now on, in the whole process."""
    optimizers.get_optimizer_instance_v2 = _instance
