"""``tf.contrib``: the parts of it that later versions of TensorFlow have under other names."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from determined._compat import zip_strict
from determined._tensorflow._framework import tf, v1


def _xavier(uniform: bool = True, seed: Any = None, dtype: Any = tf.float32) -> Any:
    kind = v1.glorot_uniform_initializer if uniform else v1.glorot_normal_initializer
    return kind(seed=seed, dtype=dtype)


def _variance_scaling(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: Any = None, dtype: Any = tf.float32
) -> Any:
    distribution = "uniform" if uniform else "truncated_normal"
    return v1.variance_scaling_initializer(factor, mode.lower(), distribution, seed=seed, dtype=dtype)


def _l1(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
    return lambda weights: tf.multiply(scale, tf.reduce_sum(tf.abs(weights)), name=scope or "l1_regularizer")


def _l2(scale: float, scope: str | None = None) -> Callable[[Any], Any]:
    return lambda weights: tf.multiply(scale, tf.nn.l2_loss(weights), name=scope or "l2_regularizer")


def _clip_gradients_by_norm(optimizer: Any, clip_norm: float) -> Any:
    """Makes an optimizer clip its gradients to this global norm before it applies them."""
    apply = optimizer.apply_gradients

    def clipped(grads_and_vars: Any, *args: Any, **options: Any) -> Any:
        gradients, variables = zip_strict(*grads_and_vars)
        gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
        return apply(list(zip_strict(gradients, variables)), *args, **options)

    optimizer.apply_gradients = clipped
    return optimizer


def _parts() -> dict[str, dict[str, Any]]:
    """The available names of each module of ``tf.contrib``."""
    cells = ("BasicLSTMCell", "LSTMCell", "GRUCell", "BasicRNNCell", "MultiRNNCell", "DropoutWrapper", "LSTMStateTuple")
    data = vars(v1.data.experimental)
    framework = ("arg_scope", "add_arg_scope")
    nest = {"nest": tf.nest}
    return {
        "layers": {
            "xavier_initializer": _xavier,
            "xavier_initializer_conv2d": _xavier,
            "variance_scaling_initializer": _variance_scaling,
            "l1_regularizer": _l1,
            "l2_regularizer": _l2,
            "flatten": v1.layers.flatten,
            "one_hot_encoding": lambda labels, num_classes: tf.one_hot(labels, num_classes),
        },
        "data": {name: value for name, value in data.items() if not name.startswith("_")},
        "rnn": {name: getattr(v1.nn.rnn_cell, name) for name in cells if hasattr(v1.nn.rnn_cell, name)}
        | {"static_rnn": v1.nn.static_rnn},
        "framework": nest
        | {"get_or_create_global_step": v1.train.get_or_create_global_step, "get_variables": v1.global_variables}
        | {name: getattr(v1, name) for name in framework if hasattr(v1, name)},
        "estimator": {
            "add_metrics": tf.estimator.add_metrics,
            "clip_gradients_by_norm": _clip_gradients_by_norm,
            "stop_if_no_decrease_hook": tf.estimator.experimental.stop_if_no_decrease_hook,
            "InMemoryEvaluatorHook": tf.estimator.experimental.InMemoryEvaluatorHook,
        },
        "distribute": {name: value for name, value in vars(v1.distribute).items() if name.endswith("Strategy")},
    }


def module() -> Any:
    """A module ``tf.contrib`` with the available names. Other names raise an error that says so."""
    return _module("contrib", _parts())


def _module(path: str, names: Mapping[str, Any]) -> Any:
    made: Any = types.ModuleType(f"tensorflow.{path}")
    for name, value in names.items():
        vars(made)[name] = _module(f"{path}.{name}", value) if isinstance(value, dict) else value

    def missing(name: str) -> Any:
        there = ", ".join(sorted(names))
        raise AttributeError(
            f"tf.{path}.{name} was removed with TensorFlow 1 and has no replacement; tf.{path} has {there}"
        )

    if path == "contrib":
        made.__path__ = []
    made.__getattr__ = missing
    sys.modules[made.__name__] = made
    return made
