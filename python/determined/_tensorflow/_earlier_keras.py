"""Names of Keras before TensorFlow 2.11, implemented with those of the installed version."""

from __future__ import annotations

import logging
import math
from typing import Any

from determined._compat import zip_strict
from determined._tensorflow._framework import tf, v1

logger = logging.getLogger("determined")

_keras: Any = tf.keras
_Schedule: Any = _keras.optimizers.schedules.LearningRateSchedule
_Cell: Any = _keras.layers.LSTMCell
_Policy: Any = _keras.mixed_precision.Policy
_NEW_OPTIONS = frozenset({"weight_decay", "use_ema", "ema_momentum", "ema_overwrite_frequency", "jit_compile"})
_NAMES = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD")


def _optimizer(name: str) -> Any:
    """A legacy optimizer. With an option that only the new optimizer has, the call returns the new one."""
    earlier, new = getattr(_keras.optimizers.legacy, name), getattr(_keras.optimizers, name)

    def make(cls: Any, *args: Any, **options: Any) -> Any:
        if cls is found and _NEW_OPTIONS & options.keys():
            return new(*args, **options)
        return earlier.__new__(cls)

    found: Any = type(name, (earlier,), {"__new__": make, "__module__": earlier.__module__, "__doc__": earlier.__doc__})
    return found


OPTIMIZERS: dict[str, Any] = {name: _optimizer(name) for name in _NAMES}
_own_get, _own_deserialize = _keras.optimizers.get, _keras.optimizers.deserialize


def _made(class_name: Any, config: dict[str, Any]) -> Any:
    """A legacy optimizer; None if there is none of this name, or if the configuration asks for a new one."""
    kind = {name.lower(): one for name, one in OPTIMIZERS.items()}.get(str(class_name).lower())
    if kind is None or config.get("is_legacy_optimizer", True) is False:
        return None
    return kind.from_config({name: value for name, value in config.items() if name != "is_legacy_optimizer"})


def _of_keras(first: Any) -> Any:
    """The Keras optimizer for one of TensorFlow 1, which Keras accepts only in graphs."""
    given = vars(first)
    for kind, name, options in (
        (v1.train.AdamOptimizer, "Adam", ("_lr", "_beta1", "_beta2", "_epsilon")),
        (v1.train.MomentumOptimizer, "SGD", ("_learning_rate", "_momentum", "_use_nesterov")),
        (v1.train.GradientDescentOptimizer, "SGD", ("_learning_rate",)),
        (v1.train.RMSPropOptimizer, "RMSprop", ("_learning_rate", "_decay", "_momentum", "_epsilon", "_centered")),
        (v1.train.AdagradOptimizer, "Adagrad", ("_learning_rate", "_initial_accumulator_value")),
        (v1.train.AdadeltaOptimizer, "Adadelta", ("_lr", "_rho", "_epsilon")),
    ):
        if type(first) is kind:
            return OPTIMIZERS[name](*(given[option] for option in options))
    return _own_get(first)


def get_optimizer(identifier: Any, **options: Any) -> Any:
    """As ``tf.keras.optimizers.get``, but a name or a configuration gives a legacy optimizer."""
    if isinstance(identifier, dict):
        return deserialize_optimizer(identifier)
    if isinstance(identifier, v1.train.Optimizer) and tf.executing_eagerly():
        return _of_keras(identifier)
    made = _made(identifier, {}) if isinstance(identifier, str) else None
    return _own_get(identifier, **options) if made is None else made


def deserialize_optimizer(config: Any, custom_objects: Any = None, **options: Any) -> Any:
    """As ``tf.keras.optimizers.deserialize``, but returns a legacy optimizer."""
    made = _made(config.get("class_name"), dict(config.get("config") or {}))
    return _own_deserialize(config, custom_objects, **options) if made is None else made


class _LinearCosine(_Schedule):  # type: ignore[misc]
    """A learning rate with linear cosine decay."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.num_periods = num_periods
        self.alpha = alpha
        self.beta = beta
        self.name = name

    def _noise(self, step: Any) -> Any:
        return 0.0

    def __call__(self, step: Any) -> Any:
        initial = tf.convert_to_tensor(self.initial_learning_rate)
        total = tf.cast(self.decay_steps, initial.dtype)
        done = tf.minimum(tf.cast(step, initial.dtype), total) / total
        swing = 0.5 * (1.0 + tf.cos(math.pi * 2.0 * self.num_periods * done))
        return initial * ((self.alpha + 1.0 - done + self._noise(step)) * swing + self.beta)

    def get_config(self) -> dict[str, Any]:
        return dict(vars(self))


class LinearCosineDecay(_LinearCosine):
    """``tf.keras.experimental.LinearCosineDecay``."""


class NoisyLinearCosineDecay(_LinearCosine):
    """``tf.keras.experimental.NoisyLinearCosineDecay``. The noise depends only on the step, so a resumed trial has the
    same noise."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        initial_variance: float = 1.0,
        variance_decay: float = 0.55,
        num_periods: float = 0.5,
        alpha: float = 0.0,
        beta: float = 0.001,
        name: str | None = None,
    ) -> None:
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance = initial_variance
        self.variance_decay = variance_decay

    def _noise(self, step: Any) -> Any:
        variance = self.initial_variance / tf.pow(1.0 + tf.cast(step, tf.float32), self.variance_decay)
        seed = tf.stack([tf.constant(0, tf.int64), tf.cast(step, tf.int64)])
        return tf.random.stateless_normal([], seed) * tf.sqrt(variance)


class PeepholeLSTMCell(_Cell):  # type: ignore[misc]
    """``tf.keras.experimental.PeepholeLSTMCell``: the gates also see the cell state."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.peepholes = [
            self.add_weight(shape=(self.units,), name=f"{gate}_peephole_weights", initializer=self.kernel_initializer)
            for gate in ("input_gate", "forget_gate", "output_gate")
        ]

    def _compute_carry_and_output_fused(self, z: Any, c_tm1: Any) -> Any:
        at_input, at_forget, at_output = self.peepholes
        z0, z1, z2, z3 = z
        i = self.recurrent_activation(z0 + at_input * c_tm1)
        f = self.recurrent_activation(z1 + at_forget * c_tm1)
        c = f * c_tm1 + i * self.activation(z2)
        return c, self.recurrent_activation(z3 + at_output * c)

    def _compute_carry_and_output(self, x: Any, h_tm1: Any, c_tm1: Any) -> Any:
        kernels = tf.split(self.recurrent_kernel, 4, axis=1)
        z = [at + tf.matmul(h, kernel) for at, h, kernel in zip_strict(x, h_tm1, kernels)]
        return self._compute_carry_and_output_fused(z, c_tm1)


def multi_gpu_model(model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
    """``tf.keras.utils.multi_gpu_model``: returns the model itself."""
    logger.warning("multi_gpu_model() returns the model itself; set resources.slots_per_trial to train on several GPUs")
    return model


class Policy(_Policy):  # type: ignore[misc]
    """``tf.keras.mixed_precision.experimental.Policy``. In later versions, the optimizer has the loss scale."""

    def __init__(self, name: str, loss_scale: Any = "auto") -> None:
        super().__init__(name)
        self.loss_scale = loss_scale


def set_policy(policy: Any) -> None:
    """``tf.keras.mixed_precision.experimental.set_policy``."""
    _keras.mixed_precision.set_global_policy(policy)


def scaled(optimizer: Any, loss_scale: Any = "dynamic") -> Any:
    """``tf.keras.mixed_precision.experimental.LossScaleOptimizer``."""
    fixed = getattr(loss_scale, "_loss_scale_value", loss_scale)
    if isinstance(fixed, (int, float)):
        return _keras.mixed_precision.LossScaleOptimizer(optimizer, dynamic=False, initial_scale=fixed)
    return _keras.mixed_precision.LossScaleOptimizer(optimizer)


def rewrite_graphs(optimizer: Any, loss_scale: Any = "dynamic") -> Any:
    """``tf.train.experimental.enable_mixed_precision_graph_rewrite``."""
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
    return scaled(optimizer, loss_scale)


def predict_classes(self: Any, x: Any, batch_size: int | None = 32, verbose: int = 0) -> Any:
    """``Sequential.predict_classes``."""
    found = self.predict(x, batch_size=batch_size, verbose=verbose)
    return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")


def predict_proba(self: Any, x: Any, batch_size: int | None = 32, verbose: int = 0) -> Any:
    """``Sequential.predict_proba``."""
    return self.predict(x, batch_size=batch_size, verbose=verbose)


CuDNNLSTM, CuDNNGRU = _keras.layers.LSTM, _keras.layers.GRU  # they use cuDNN if possible
