"""Computes the metrics of a batch before the batch updates the variables."""

from __future__ import annotations

import re
from typing import Any

from determined._tensorflow._framework import tf

_UPDATE = re.compile(r"(Resource)?(Sparse)?(Apply|Assign|Scatter)")


def before_updates(metrics: dict[str, Any], train_op: Any) -> dict[str, Any]:
    """The same metrics, computed before the updates of variables in ``train_op``.

    A graph runs in any order that its edges allow. A summary that reads a variable (``linear/bias`` of a premade
    Estimator, a regularization loss, a learning rate that depends on the global step) would sometimes see it before
    and sometimes after the update by the same batch, so runs of the same trial would report different numbers. Metrics
    that depend on an update, and those inside of conditions and loops, are not changed.
    """
    updates = {op for op in _ancestors(getattr(train_op, "op", train_op)) if _UPDATE.match(op.type)}
    ordered = {
        name: tf.raw_ops.DeepCopy(x=tensor)  # reading a non-resource variable returns the variable itself, not a copy
        for name, tensor in metrics.items()
        if tensor.dtype.is_numpy_compatible
        and tensor.dtype not in (tf.string, tf.bool)
        and tensor.op._get_control_flow_context() is None
        and updates.isdisjoint(_ancestors(tensor.op))
    }
    for update in updates:
        if update._get_control_flow_context() is None:
            update._add_control_inputs([tensor.op for tensor in ordered.values()])
    return {**metrics, **ordered}


def _ancestors(op: Any) -> set[Any]:
    """An operation and all operations that must run before it."""
    found: set[Any] = set()
    left = [op]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [tensor.op for tensor in op.inputs]
            left += op.control_inputs
    return found
