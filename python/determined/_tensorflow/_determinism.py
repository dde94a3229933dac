"""Deterministic operations: the same results from the same input.

In deterministic mode, TensorFlow builds softmax cross entropies from ten or more operations, because its fused
operation is not deterministic on GPUs. On CPUs it is, so without a GPU the fused operation is used: steps of small
models take a quarter less time.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from tensorflow.python.framework import config, random_seed
from tensorflow.python.ops import nn_ops

from determined._tensorflow._framework import tf, v1

_CROSS_ENTROPIES = ("softmax_cross_entropy_with_logits_v2_helper", "_sparse_softmax_cross_entropy_with_rank_2_logits")
_building = threading.RLock()
_graph_seed = [0]
_own_get_seed = random_seed.get_seed


def enable(seed: int = 0) -> None:
    """Turns deterministic mode on for this process. Further calls change only the seed."""
    tf.config.experimental.enable_op_determinism()
    _graph_seed[:] = [seed % 2**31]
    if random_seed.get_seed is not _seed_of_operation:
        random_seed.get_seed = _seed_of_operation
    module: Any = nn_ops
    for name in _CROSS_ENTROPIES if not tf.config.list_physical_devices("GPU") else ():
        own = getattr(module, name, None)  # the name may differ in other versions
        if own is not None and not getattr(own, "is_one_operation", False):
            setattr(module, name, _as_one_operation(own))


def _seed_of_operation(op_seed: int | None) -> Any:
    """As TensorFlow's ``get_seed``, but a graph without a seed (from ``model_to_estimator``) gets the trial's."""
    if op_seed is None and not tf.executing_eagerly() and (graph := v1.get_default_graph()).seed is None:
        graph.seed = _graph_seed[0]
    return _own_get_seed(op_seed)


class _Off:
    """TensorFlow's configuration, with deterministic mode shown as off."""

    def __getattr__(self, name: str) -> Any:
        return getattr(config, name)

    def is_op_determinism_enabled(self) -> bool:
        return False


def _as_one_operation(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def cross_entropy(*args: Any, **options: Any) -> Any:
        module: Any = nn_ops
        with _building:
            module.config = _Off()
            try:
                return own(*args, **options)
            finally:
                module.config = config

    cross_entropy.is_one_operation = True  # type: ignore[attr-defined]
    return cross_entropy
