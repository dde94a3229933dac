"""What a batch reports is computed before the batch changes the variables."""

from __future__ import annotations

import re
from typing import Any

from determined._tensorflow._framework import tf

_UPDATE = re.compile(r"(Resource)?(Sparse)?(Apply|Assign|Scatter)")


def before_updates(metrics: dict[str, Any], train_op: Any) -> dict[str, Any]:
    """The same metrics, each ordered before all updates of variables that ``train_op`` makes.

    A graph runs in any order that its edges allow: a summary that reads a variable (``linear/bias`` of a premade
    Estimator, a regularisation loss, a rate that falls with the global step) reads it now before and now after the
    update of the same batch, and the same trial reports other numbers. A metric that depends on an update stays where
    its author put it, and so do the parts of conditions and loops.
    """
    updates = {op for op in _ancestors(getattr(train_op, "op", train_op)) if _UPDATE.match(op.type)}
    ordered = {
        name: tf.raw_ops.DeepCopy(x=tensor)  # what is read of a variable that is no resource is the variable itself
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
    """An operation and all that must run before it."""
    found: set[Any] = set()
    left = [op]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [tensor.op for tensor in op.inputs]
            left += op.control_inputs
    return found
