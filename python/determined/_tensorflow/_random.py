"""Random operations of TensorFlow that give the same numbers after a resume.

TensorFlow's random operations keep their state inside their kernels, where it can be neither read nor set, and a new
session starts them afresh. Therefore every random operation of a training graph is replaced by a stateless one, with a
seed of (the operation's own seeds, rank, *number of the batch*): a trial that resumes after batch n draws the numbers
that it would have drawn without the pause. Functions of data sets keep TensorFlow's operations, because a resumed trial
runs its input up to its position.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from tensorflow.python.data.ops import structured_function
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops import gen_random_ops
from tensorflow.python.ops import gen_stateless_random_ops as stateless

from determined._tensorflow._framework import tf, v1

_NAME = "determined_batch"


class BatchSeeds:
    """Replaces TensorFlow's random operations, once per process."""

    def __init__(self) -> None:
        self.rank = 0
        self._installed = False
        self._suspended = 0
        self._in_data = 0
        self.drawn_in_data = False
        """Whether a function of a data set draws random numbers. Set it to False before building a data set."""
        self._variable: Any = None

    def install(self, rank: int) -> None:
        self.rank = rank
        if self._installed:
            return
        self._installed = True
        for name, instead in _INSTEAD.items():
            setattr(gen_random_ops, name, self._replaced(getattr(gen_random_ops, name), instead))
        wrapper: Any = structured_function.StructuredFunctionWrapper
        wrapper.__init__ = self._left_alone(wrapper.__init__)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Operations that are created inside the block are TensorFlow's own."""
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1

    def placeholder(self, graph: Any) -> Any:
        """The number of the batch in a graph that a session runs: a placeholder to feed at every step (default: 0)."""
        found = graph.get_collection_ref(_NAME)
        if not found:
            with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None), graph.device("/cpu:0"):
                found.append(v1.placeholder_with_default(tf.constant(0, tf.int64), [], name=_NAME))
        return found[0]

    def set_batch(self, number: int) -> None:
        """Sets the number of the batch for code that runs eagerly or in functions."""
        self._eager().assign(number)

    def _eager(self) -> Any:
        if self._variable is None:
            with tf.init_scope(), tf.device("/cpu:0"), self.suspended():
                self._variable = tf.Variable(0, dtype=tf.int64, trainable=False, name=_NAME)
        return self._variable

    def batch(self) -> Any:
        """The number of the batch as a tensor, for the operations that are being created."""
        graph = None if tf.executing_eagerly() else v1.get_default_graph()
        while isinstance(graph, FuncGraph):
            graph = graph.outer_graph
            if graph is not None and _is_eager(graph):
                graph = None
        return self._eager().read_value() if graph is None else self.placeholder(graph)

    def _seed(self, seed: int | None, seed2: int | None) -> Any:
        key = _number(seed or 0, seed2 or 0, self.rank)
        return tf.stack([tf.constant(key, tf.int64), self.batch()])

    def _replaced(self, own: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(own)
        def draw(*args: Any, seed: int = 0, seed2: int = 0, **options: Any) -> Any:
            if self._suspended:
                self.drawn_in_data = self.drawn_in_data or self._in_data > 0
                return own(*args, seed=seed, seed2=seed2, **options)
            name = options.pop("name", None)
            with tf.name_scope(name or own.__name__):
                return instead(self._seed(seed, seed2), *args, **options)

        return draw

    def _left_alone(self, own: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(own)
        def build(*args: Any, **options: Any) -> None:
            self._in_data += 1
            try:
                with self.suspended():
                    own(*args, **options)
            finally:
                self._in_data -= 1

        return build


def _is_eager(graph: Any) -> bool:
    """Whether a graph is the default graph that eager mode uses as the outer graph of functions."""
    return not isinstance(graph, FuncGraph) and v1.executing_eagerly_outside_functions()


def _number(*parts: int) -> int:
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def _joined(shape: Any, parameter: Any) -> Any:
    return tf.concat([tf.cast(shape, tf.int32), tf.shape(parameter)], 0)


def _shuffled(seed: Any, value: Any) -> Any:
    value = tf.convert_to_tensor(value)
    if value.shape.rank == 0:
        return tf.identity(value)
    order = tf.argsort(stateless.stateless_random_uniform(tf.shape(value)[:1], seed, dtype=tf.float64), stable=True)
    shuffled = tf.gather(value, order)
    shuffled.set_shape(value.shape)
    return shuffled


_INSTEAD: dict[str, Callable[..., Any]] = {
    "random_standard_normal": lambda seed, shape, dtype: stateless.stateless_random_normal(shape, seed, dtype=dtype),
    "truncated_normal": lambda seed, shape, dtype: stateless.stateless_truncated_normal(shape, seed, dtype=dtype),
    "random_uniform": lambda seed, shape, dtype: stateless.stateless_random_uniform(shape, seed, dtype=dtype),
    "random_uniform_int": lambda seed, shape, minval, maxval: stateless.stateless_random_uniform_int(
        shape, seed, minval, maxval
    ),
    "random_shuffle": _shuffled,
    "multinomial": lambda seed, logits, num_samples, output_dtype=tf.int64: stateless.stateless_multinomial(
        logits, num_samples, seed, output_dtype=output_dtype
    ),
    "random_gamma": lambda seed, shape, alpha: stateless.stateless_random_gamma_v2(_joined(shape, alpha), seed, alpha),
    "random_poisson_v2": lambda seed, shape, rate, dtype=tf.int64: stateless.stateless_random_poisson(
        _joined(shape, rate), seed, rate, dtype=dtype
    ),
    "parameterized_truncated_normal": lambda seed, shape, means, stdevs, minvals, maxvals: (
        stateless.stateless_parameterized_truncated_normal(shape, seed, means, stdevs, minvals, maxvals)
    ),
}

seeds = BatchSeeds()
