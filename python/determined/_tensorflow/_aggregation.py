"""``optimizations.aggregation_frequency``: optimizers that step on every k-th batch, with the gradients of all k.

The gradients summed since the last step are part of each rank's state, so a trial that is interrupted between two steps
resumes with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from determined._compat import zip_strict
from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._tensorflow import _exchange
from determined._tensorflow._framework import tf, v1
from determined._tensorflow._random import seeds
from determined.common import check


class Waiting:
    """The sums of gradients since the last step, for code outside of graphs."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        self._saved: list[Any] = []

    def add(self, like: Any) -> Any:
        """Adds a sum for the variable ``like``: its restored value, or zero."""
        at = len(self._variables)
        with tf.init_scope():
            start = self._saved[at] if at < len(self._saved) else tf.zeros(like.shape, like.dtype)
            self._variables.append(tf.Variable(start, trainable=False, name="waiting"))
        return self._variables[at]

    def state(self) -> list[Any]:
        return [one.numpy() for one in self._variables]

    def restore(self, saved: list[Any]) -> None:
        """Restores what ``state`` returned, for sums that exist and for those that ``add`` creates later."""
        self._saved = list(saved)
        for variable, value in zip(self._variables, saved):
            variable.assign(value)


def wrap(optimizer: Any, env: EnvContext, ranks: DistributedContext, waiting: Waiting | None = None) -> Any:
    """Wraps an optimizer: it applies gradients averaged over ranks, on every k-th batch.

    A Keras optimizer keeps its sums in ``waiting``; a ``tf.compat.v1.train`` optimizer in local variables of its graph.

    Raises:
        CheckFailedError: ``aggregation_frequency`` is above 1 for a Keras optimizer without ``waiting``.
    """
    config = env.experiment_config
    frequency, average = config.get_aggregation_frequency(), config.average_aggregated_gradients()
    if ranks.size == 1 and frequency == 1:
        return optimizer
    compress = config.gradient_compression()
    if frequency == 1:
        return _exchange.distribute(optimizer, ranks, compress=compress)
    if isinstance(optimizer, v1.train.Optimizer):
        return AggregatingOptimizer(optimizer, ranks, compress=compress, frequency=frequency, average=average)
    if waiting is not None:
        exchange = _exchange.means(ranks, compress=compress) if ranks.size > 1 else None
        return _keras(optimizer, waiting, _Turn(frequency, average), exchange)
    check.fail(
        f"optimizations.aggregation_frequency {frequency} with a {type(optimizer).__name__}",
        "an optimizer of tf.compat.v1.train",
        "Keras optimizers can aggregate gradients only in a TFKerasTrial",
    )


class _Turn:
    """Decides on which batches to step, and scales the sums that are applied."""

    def __init__(self, frequency: int, average: bool) -> None:
        self._frequency = frequency
        self._divisor = frequency if average else 1

    def is_now(self) -> Any:
        return tf.equal((seeds.batch() + 1) % self._frequency, 0)

    def share(self, total: Any) -> Any:
        return total / tf.cast(self._divisor, total.dtype)


class AggregatingOptimizer(_exchange.DistributedOptimizer):
    """A ``DistributedOptimizer`` that steps on every k-th batch.

    On the other batches, ``compute_gradients`` returns zeros and nothing is applied. The global step counts batches, as
    without aggregation.
    """

    def __init__(self, inner: Any, ranks: DistributedContext, *, compress: bool, frequency: int, average: bool) -> None:
        super().__init__(inner, ranks, compress=compress)
        self._turn = _Turn(frequency, average)

    def _mean(self, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        variables = [variable for gradient, variable in pairs if gradient is not None]
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in pairs if gradient is not None]
        sums = [_sum(variable, gradient) for variable, gradient in zip_strict(variables, gradients)]
        with tf.control_dependencies([one.assign_add(g).op for one, g in zip_strict(sums, gradients)]):
            due = tf.identity(self._turn.is_now())

        def take() -> list[Any]:
            shares = [self._turn.share(one.read_value()) for one in sums]
            if self._ranks.size > 1:
                shares = _exchange.mean_of(shares, variables, self._ranks, compress=self._compress)
            with tf.control_dependencies(shares):
                emptied = [one.assign(tf.zeros_like(one)).op for one in sums]
            with tf.control_dependencies(emptied):
                return [tf.identity(one) for one in shares]

        found = iter(v1.cond(due, take, lambda: [tf.zeros_like(one) for one in gradients], strict=True))
        return [(None if gradient is None else next(found), variable) for gradient, variable in pairs]

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = list(grads_and_vars)
        if v1.get_default_graph() not in self._exchanged:
            pairs = self._mean(pairs)

        def step() -> Any:
            with tf.control_dependencies([self._inner.apply_gradients(pairs)]):
                return tf.constant(True)

        done = v1.cond(self._turn.is_now(), step, lambda: tf.constant(False))
        with tf.control_dependencies([done]):
            counted = [] if global_step is None else [v1.assign_add(global_step, 1)]
        return tf.group(done, *counted, name=name or "aggregated_step")


def _sum(variable: Any, gradient: Any) -> Any:
    with tf.init_scope(), v1.variable_scope(v1.VariableScope(reuse=False)), v1.device(variable.device):
        return v1.Variable(
            lambda: tf.zeros(variable.shape, gradient.dtype),
            trainable=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
            use_resource=True,
            name=f"waiting/{variable.op.name}",
        )


def _keras(optimizer: Any, waiting: Waiting, turn: _Turn, exchange: Callable[..., list[Any]] | None) -> Any:
    kind = type(optimizer)
    sums: list[Any] = []

    def apply_gradients(self: Any, grads_and_vars: Any, *args: Any, **options: Any) -> Any:
        pairs = [(tf.convert_to_tensor(gradient), one) for gradient, one in grads_and_vars if gradient is not None]
        variables = [one for _, one in pairs]
        if not sums:
            sums.extend(waiting.add(one) for one in variables)
        for one, (gradient, _) in zip_strict(sums, pairs):
            one.assign_add(gradient)

        def step() -> Any:
            shares = [turn.share(one) for one in sums]
            if exchange is not None:
                shares = exchange(shares, variables)
            kind.apply_gradients(self, zip_strict(shares, variables), *args, **options)
            for one in sums:
                one.assign(tf.zeros_like(one))
            return tf.constant(True)

        tf.cond(turn.is_now(), step, lambda: tf.constant(False))
        return self.iterations

    return _exchange.changed(optimizer, apply_gradients)
