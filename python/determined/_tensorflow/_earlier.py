"""Provides the names of earlier versions of TensorFlow.

Removed names are available again, and the Keras optimizers are the legacy ones. Nothing else changes: a name with
another meaning in TensorFlow 2 keeps that meaning.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from determined._tensorflow import _contrib
from determined._tensorflow._framework import tf, v1

_KERAS = "keras.api._v2.keras"
_HINTS = ("autotune_buffers", "autotune_cpu_budget", "hoist_random_uniform", "map_and_filter_fusion")
_NOT_ENTERED = ("compat", "contrib", "applications", "datasets", "tpu", "python", "internal")
_ABSENT: Any = object()


class _Changes:
    """The attributes that were set, so that they can be restored."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []
        self._modules = set(sys.modules)

    def put(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _ABSENT)))
        setattr(owner, name, value)

    def undo(self) -> None:
        for owner, name, value in reversed(self._before):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._before.clear()
        for name in set(sys.modules) - self._modules:
            if name.startswith(("tensorflow.contrib", "tensorflow.keras.mixed_precision.experimental")):
                del sys.modules[name]


_taken: list[_Changes] = []


def take() -> None:
    """Provides the earlier names from now on, in the whole process."""
    if not _taken:
        _taken.append(_Changes())
        _apply(_taken[0])


def give_back() -> None:
    """Undoes ``take``."""
    while _taken:
        _taken.pop().undo()


@contextlib.contextmanager
def taken(wanted: bool) -> Iterator[None]:
    """Provides the earlier names inside the block, if ``wanted``."""
    if not wanted or _taken:
        yield
        return
    take()
    try:
        yield
    finally:
        give_back()


def alias_private_keras() -> None:
    """Makes ``tensorflow.python.keras``, an old copy of Keras that does not work with ``tf.keras``, an alias of it."""
    importlib.import_module("tensorflow.keras")
    for name in ("", *(f".{one}" for one in _below(_KERAS))):
        sys.modules[f"tensorflow.python.keras{name}"] = sys.modules[_KERAS + name]
    sys.modules["tensorflow.python"].keras = sys.modules[_KERAS]  # type: ignore[attr-defined]


def _apply(changes: _Changes) -> None:
    from determined._tensorflow import _earlier_keras as earlier

    for suffix, names in _of_keras(earlier).items():
        for module in _modules_of_keras(suffix):
            for name, value in names.items():
                changes.put(module, name, value)
    for name in ("predict_classes", "predict_proba"):
        changes.put(tf.keras.Sequential, name, getattr(earlier, name))
    changes.put(tf.train.experimental, "enable_mixed_precision_graph_rewrite", earlier.rewrite_graphs)
    changes.put(v1, "contrib", contrib := _contrib.module())
    changes.put(tf, "contrib", contrib)
    for name in _HINTS:  # none of them affects results
        changes.put(tf.data.experimental.OptimizationOptions, name, None)
    changes.put(tf.data.experimental.OptimizationOptions, "map_vectorization", types.SimpleNamespace())
    for ours, firsts in _counterparts():
        changes.put(ours, "__getattr__", _fallback(ours, firsts))


def _of_keras(earlier: Any) -> dict[str, dict[str, Any]]:
    experimental: Any = types.ModuleType("tensorflow.keras.mixed_precision.experimental")
    experimental.Policy = earlier.Policy
    experimental.set_policy = earlier.set_policy
    experimental.global_policy = tf.keras.mixed_precision.global_policy
    experimental.LossScaleOptimizer = earlier.scaled
    sys.modules[experimental.__name__] = experimental
    optimizers = {**earlier.OPTIMIZERS, "Optimizer": tf.keras.optimizers.legacy.Optimizer, "get": earlier.get_optimizer}
    return {
        "optimizers": {**optimizers, "deserialize": earlier.deserialize_optimizer},
        "experimental": {
            name: getattr(earlier, name) for name in ("LinearCosineDecay", "NoisyLinearCosineDecay", "PeepholeLSTMCell")
        },
        "mixed_precision": {"experimental": experimental},
        "layers": {"CuDNNLSTM": earlier.CuDNNLSTM, "CuDNNGRU": earlier.CuDNNGRU},
        "utils": {"multi_gpu_model": earlier.multi_gpu_model},
    }


def _modules_of_keras(suffix: str) -> list[Any]:
    """All modules of this name. ``from tensorflow.keras.utils import …`` imports a second copy of the module that
    ``tf.keras.utils`` is."""
    names = (f"{_KERAS}.{suffix}", f"tensorflow.keras.{suffix}", f"keras.{suffix}", f"keras.api._v1.keras.{suffix}")
    found = []
    for name in names:
        with contextlib.suppress(ImportError):
            found.append(importlib.import_module(name))
    return found


def _below(name: str) -> list[str]:
    return sorted(one.removeprefix(f"{name}.") for one in sys.modules if one.startswith(f"{name}."))


def _counterparts() -> Iterator[tuple[Any, list[Any]]]:
    """Each module of TensorFlow 2, with the modules of TensorFlow 1 that correspond to it."""
    for one in (tf, v1):
        one.keras.optimizers, one.estimator.Estimator  # noqa: B018  # triggers lazy loading
    found: dict[str, tuple[Any, list[Any]]] = {}
    todo: list[tuple[Any, Any]] = [(tf.keras, v1.keras), (tf, v1)]
    while todo:
        ours, first = todo.pop(0)
        name = ours.__name__.replace("tensorflow.keras", _KERAS)  # a module imported by that name is a copy
        real = sys.modules.get(name, ours)
        firsts = found.setdefault(real.__name__, (real, []))[1]
        if first in firsts:
            continue
        firsts.append(first)
        for name in dir(first):
            if not name.startswith("_") and name not in _NOT_ENTERED:
                below, its = getattr(ours, name, None), getattr(first, name, None)
                if isinstance(below, types.ModuleType) and isinstance(its, types.ModuleType):
                    todo.append((below, its))
    for name, (module, firsts) in found.items():
        yield module, firsts
        if name.startswith(_KERAS) and (copy := _imported(name.replace(_KERAS, "tensorflow.keras"))) is not None:
            yield copy, firsts


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _fallback(ours: Any, firsts: list[Any]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        for first in firsts if not name.startswith("_") else ():
            with contextlib.suppress(AttributeError):
                return getattr(first, name)
        raise AttributeError(f"module {ours.__name__!r} has no attribute {name!r}")

    return find
