"""Loads only the model's variables from a checkpoint, without optimizers and metrics."""

from __future__ import annotations

from typing import Any

from tensorflow.core.protobuf import trackable_object_graph_pb2
from tensorflow.python.checkpoint import graph_view

from determined._tensorflow._framework import tf

WEIGHTS = "determined-keras-model-weights"
"""The file with the model's weights in a checkpoint."""
_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def take(model: Any, path: str) -> tuple[int, int]:
    """Loads the variables of a model from a file of ``save_weights``. Returns the number of loaded variables and the
    number of the model's variables.

    Variables are identified by their path from the model, as in ``load_weights``. Those of another shape are skipped.
    """
    reader = tf.train.load_checkpoint(path)
    saved = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(_GRAPH))
    found, ways = graph_view.ObjectGraphView(model).breadth_first_traversal()
    way_to = {id(one): ways[one] for one in found}
    taken = 0
    for variable in model.weights:
        key = _key(saved, way_to.get(id(variable)))
        if key is not None and (value := reader.get_tensor(key)).shape == tuple(variable.shape):
            variable.assign(value)
            taken += 1
    return taken, len(model.weights)


def _key(saved: Any, way: Any) -> str | None:
    """The name of the tensor at the end of a path through the objects of a checkpoint; None if there is none."""
    if way is None:
        return None
    node = saved.nodes[0]
    for step in way:
        child = next((one.node_id for one in node.children if one.local_name == step.name), None)
        if child is None:
            return None
        node = saved.nodes[child]
    return next((one.checkpoint_key for one in node.attributes if one.name == "VARIABLE_VALUE"), None)
