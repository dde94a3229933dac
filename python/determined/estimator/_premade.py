"""Lets the premade Estimators of TensorFlow 2 take an optimizer of TensorFlow 1.

``tf.estimator.DNNClassifier(optimizer=tf.compat.v1.train.AdamOptimizer(0.01), …)`` is right in TensorFlow 1, for which
trials were written; in TensorFlow 2 the same name is another class, which wants an optimizer of Keras.
"""

from __future__ import annotations

from typing import Any

from tensorflow_estimator.python.estimator.canned import optimizers

from determined._tensorflow._framework import tf, v1

_instance_of = optimizers.get_optimizer_instance_v2


class _FirstGeneration(tf.keras.optimizers.legacy.Optimizer):  # type: ignore[misc]
    """An optimizer of TensorFlow 1 as premade Estimators call one of Keras."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(name=optimizer.get_name())
        self.optimizer = optimizer

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        # Of two optimizers of one Estimator only the one that was given the global step counts it.
        return [self.optimizer.minimize(loss, global_step=self._iterations, var_list=params)]


def _instance(opt: Any, learning_rate: Any = None) -> Any:
    made = opt() if callable(opt) else opt
    return _FirstGeneration(made) if isinstance(made, v1.train.Optimizer) else _instance_of(made, learning_rate)


def take_both_generations() -> None:
    """From now on; what Keras has is taken as before."""
    optimizers.get_optimizer_instance_v2 = _instance
