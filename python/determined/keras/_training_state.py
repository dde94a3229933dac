"""What a training with Keras continues from, besides the model's weights."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from determined._compat import zip_strict
from determined._run import _random_state

_PLAIN = (bool, int, float, str, type(None), np.generic, np.ndarray)
_KERAS2 = keras.__version__.startswith("2.")


class _Beginning:
    """``tf.keras`` asks such an object at which epoch to begin."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def maybe_load_initial_counters_from_ckpt(self, *_: Any, **__: Any) -> tuple[int, int]:
        return self._epoch, 0

    def maybe_load_initial_epoch_from_ckpt(self, *_: Any, **__: Any) -> int:
        return self._epoch


def begin_at(model: Any, epoch: int) -> None:
    """Makes ``fit()``, which is calling ``on_train_begin``, begin at an epoch."""
    if epoch == 0:
        return
    if _KERAS2:
        model._training_state = _Beginning(epoch)
    else:
        model._initial_epoch = epoch


def build(model: Any) -> None:
    """Creates the variables of the optimizer, which exist only after the first batch otherwise."""
    if getattr(model, "optimizer", None) is not None and hasattr(model.optimizer, "build"):
        with contextlib.suppress(ValueError):  # already built
            if not getattr(model.optimizer, "built", False) or _KERAS2:
                model.optimizer.build(model.trainable_variables)


def of_model(model: Any) -> dict[str, Any]:
    """The optimizer, the states of layers that draw random numbers, and the process's generators."""
    return {
        "optimizer": [_array(variable) for variable in _optimizer_variables(model)],
        "seeds": [_array(variable) for variable in _seeds(model)],
        "generators": _generators(),
    }


def restore(model: Any, state: Mapping[str, Any]) -> None:
    """Restores what :func:`of_model` returned.

    Raises:
        ValueError: the optimizer, or the number of layers that draw random numbers, differs.
    """
    for name, variables in (("optimizer", _optimizer_variables(model)), ("seeds", _seeds(model))):
        values = state[name]
        if len(values) != len(variables):
            raise ValueError(
                f"the checkpoint has {len(values)} variables of the {name}, and the model {len(variables)}; compile "
                "the model as it was compiled before"
            )
        for variable, value in zip_strict(variables, values):
            variable.assign(value)
    _restore_generators(state["generators"])


def of_callback(callback: Any) -> dict[str, Any]:
    """The attributes of a callback that are plain values."""
    skipped = ("params", "model", "_model", "validation_data")
    return {name: value for name, value in vars(callback).items() if name not in skipped and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return isinstance(value, _PLAIN)


def _array(variable: Any) -> Any:
    return variable.numpy() if _KERAS2 else keras.ops.convert_to_numpy(variable)


def _optimizer_variables(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return []
    variables = optimizer.variables
    return list(variables() if callable(variables) else variables)


def _seeds(model: Any) -> list[Any]:
    if _KERAS2:
        return []
    ours = {id(variable) for variable in model.weights} | {id(variable) for variable in model.metrics_variables}
    ours |= {id(variable) for variable in _optimizer_variables(model)}
    seeds = [variable for variable in model.variables if id(variable) not in ours]
    with contextlib.suppress(ImportError, AttributeError):
        from keras.src.random.seed_generator import global_seed_generator

        seeds.append(global_seed_generator().state)
    return seeds


def _generators() -> dict[str, Any]:
    found = _random_state.state()
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.get_rng_state().numpy()
        if torch.cuda.is_available():
            found["cuda"] = [state.numpy() for state in torch.cuda.get_rng_state_all()]
    return found


def _restore_generators(states: Mapping[str, Any]) -> None:
    _random_state.restore(dict(states))
    if (torch := sys.modules.get("torch")) is not None and "torch" in states:
        torch.set_rng_state(torch.from_numpy(states["torch"]))
        if "cuda" in states and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([torch.from_numpy(state) for state in states["cuda"]])
