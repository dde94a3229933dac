"""Exchange of gradients and variables between ranks, over the ranks' own connections.

The gradients of an optimizer are sent as one buffer per data type, in the order of the variables, and averaged over
ranks. The order of summation is the same before and after a pause.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from determined._compat import zip_strict
from determined._ranks._distributed import DistributedContext
from determined._tensorflow._framework import tf, v1


def mean_of(
    gradients: Sequence[Any], variables: Sequence[Any], ranks: DistributedContext, *, compress: bool, groups: Any = None
) -> list[Any]:
    """The mean of each gradient over all ranks, as tensors of the same shapes; None stays None.

    Every rank must call this for the same variables, in the same order. ``groups`` keeps connections for the next call;
    pass it only if calls never overlap.
    """
    dense: list[Any] = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    result: list[Any] = list(dense)
    for dtype in dict.fromkeys(g.dtype for g in dense if g is not None):
        places = [at for at, g in enumerate(dense) if g is not None and g.dtype == dtype]
        flat = tf.concat([tf.reshape(dense[at], [-1]) for at in places], 0)
        wire = tf.float16 if compress and dtype == tf.float32 else dtype
        reduce = groups[dtype] if groups and dtype in groups else Reduction(ranks)
        if groups is not None:
            groups[dtype] = reduce
        with tf.device("/cpu:0"):
            mean = tf.cast(tf.numpy_function(reduce, [tf.cast(flat, wire)], wire), dtype)
        sizes = [tf.size(dense[at]) for at in places]
        for at, part in zip_strict(places, tf.split(mean, sizes, num=len(places))):
            result[at] = tf.reshape(part, tf.shape(dense[at]))
            shape = variables[at].shape
            result[at].set_shape(shape if shape.is_fully_defined() else dense[at].shape)
    return result


class Reduction:
    """Averages a buffer over all ranks. Each object has its own process group, so several may run in any order."""

    def __init__(self, ranks: DistributedContext) -> None:
        import torch.distributed as dist

        self._dist = dist
        self._ranks = ranks
        self._group = dist.new_group(backend="gloo")
        self.__name__ = "exchange_of_gradients"

    def __call__(self, flat: Any) -> Any:
        import torch

        buffer = torch.from_numpy(np.array(flat))
        buffer.div_(self._ranks.size)
        with self._ranks.watch.waiting("the exchange of gradients"):
            self._dist.all_reduce(buffer, group=self._group)
        return buffer.numpy()


def distribute(optimizer: Any, ranks: DistributedContext, *, compress: bool) -> Any:
    """Wraps an optimizer: it applies gradients averaged over ranks."""
    if isinstance(optimizer, v1.train.Optimizer):
        return DistributedOptimizer(optimizer, ranks, compress=compress)
    kind, exchange = type(optimizer), means(ranks, compress=compress)

    def apply_gradients(self: Any, grads_and_vars: Any, *args: Any, **options: Any) -> Any:
        pairs = list(grads_and_vars)
        variables = [v for _, v in pairs]
        found = exchange([g for g, _ in pairs], variables)
        return kind.apply_gradients(self, zip_strict(found, variables), *args, **options)

    return changed(optimizer, apply_gradients)


def means(ranks: DistributedContext, *, compress: bool) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
    """``mean_of`` that reuses its connections in every call."""
    groups: dict[Any, Reduction] = {}
    return lambda gradients, variables: mean_of(gradients, variables, ranks, compress=compress, groups=groups)


def changed(optimizer: Any, apply_gradients: Callable[..., Any]) -> Any:
    """Replaces ``apply_gradients`` of a Keras optimizer, in place."""
    kind = type(optimizer)
    if getattr(optimizer, "jit_compile", False):
        optimizer.jit_compile = False  # compiled code cannot wait for other ranks
    optimizer.__class__ = type(
        kind.__name__, (kind,), {"apply_gradients": apply_gradients, "__module__": kind.__module__}
    )
    return optimizer


class DistributedOptimizer(v1.train.Optimizer):  # type: ignore[misc]
    """A wrapped optimizer on several ranks.

    ``compute_gradients`` returns averaged gradients, so gradient clipping sees them. Gradients from elsewhere are
    averaged when they are applied.
    """

    def __init__(self, inner: Any, ranks: DistributedContext, *, compress: bool) -> None:
        super().__init__(name="Determined" + inner.get_name(), use_locking=False)
        self._inner = inner
        self._ranks = ranks
        self._compress = compress
        self._exchanged: Any = weakref.WeakSet()
        """The graphs in which ``compute_gradients`` has averaged the gradients."""

    def compute_gradients(self, *args: Any, **options: Any) -> list[tuple[Any, Any]]:
        pairs = self._inner.compute_gradients(*args, **options)
        self._exchanged.add(v1.get_default_graph())
        return self._mean(pairs)

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **options: Any) -> Any:
        pairs = list(grads_and_vars)
        if v1.get_default_graph() not in self._exchanged:
            pairs = self._mean(pairs)
        return self._inner.apply_gradients(pairs, *args, **options)

    def _mean(self, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        variables = [variable for _, variable in pairs]
        means = mean_of([g for g, _ in pairs], variables, self._ranks, compress=self._compress)
        return list(zip_strict(means, variables))

    def get_slot(self, *args: Any, **options: Any) -> Any:
        return self._inner.get_slot(*args, **options)

    def get_slot_names(self, *args: Any, **options: Any) -> Any:
        return self._inner.get_slot_names(*args, **options)

    def variables(self) -> Any:
        return self._inner.variables()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_inner"], name)


def spread(session: Any, variables: Sequence[Any], ranks: DistributedContext) -> None:
    """Sets the variables of every rank to the values of rank 0."""
    if ranks.size == 1 or not variables:
        return
    values = session.run(list(variables)) if ranks.is_chief else None
    values = ranks.broadcast(values)
    if not ranks.is_chief:
        load(session, variables, values)


def load(session: Any, variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Sets variables of a finalized graph, through their initializers."""
    for variable, value in zip_strict(variables, values):
        variable.load(value, session)
