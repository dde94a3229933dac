"""Determinism: the same bits from run to run, with no operation more than that takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import nn_ops

from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._tensorflow import _determinism, _rng

v1 = tf.compat.v1
_OWN = {name: getattr(nn_ops, name) for name in _determinism._CROSS_ENTROPIES}
_KERNELS = {"SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"}


@pytest.fixture(autouse=True)
def _untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, own in _OWN.items():
        monkeypatch.setattr(nn_ops, name, own)


def losses(logits: Any, labels: Any) -> tuple[Any, Any]:
    sparse = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    dense = tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(labels, logits.shape[-1]), logits)
    return sparse, dense


def operations() -> set[str]:
    """The kernels of both cross entropies in a graph that is built now."""
    with tf.Graph().as_default() as graph:
        losses(tf.zeros((4, 3)), tf.zeros(4, tf.int32))
        return _KERNELS & {operation.type for operation in graph.get_operations()}


def test_a_cross_entropy_is_one_operation_without_a_gpu_and_none_of_its_own_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = ["one"]
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: found)
    _determinism.enable()
    assert operations() == set()
    found.clear()
    _determinism.enable()
    _determinism.enable()
    assert operations() == _KERNELS
    with pytest.raises(ValueError, match="requires a non-zero seed"):  # determinism is on for all else
        tf.nn.fractional_max_pool(tf.zeros((1, 4, 4, 1)), 2.0)


def test_a_cross_entropy_and_its_gradient_are_the_same_bits_each_time() -> None:
    _determinism.enable()
    generator = np.random.default_rng(1)
    logits = generator.normal(scale=20, size=(512, 999)).astype(np.float32)
    with tf.Graph().as_default():
        fed = v1.placeholder(tf.float32, logits.shape)
        both = losses(fed, tf.constant(generator.integers(0, 999, 512)))
        wanted = [*both, *tf.gradients(both[0], fed), *tf.gradients(both[1], fed)]
        with v1.Session(config=v1.ConfigProto(intra_op_parallelism_threads=4)) as session:
            first = session.run(wanted, {fed: logits})
            for _ in range(20):
                again = session.run(wanted, {fed: logits})
                assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))


def test_a_session_has_the_threads_of_its_slot_and_some_to_wait_in_on_several() -> None:
    def slots(size: int) -> EnvContext:
        return EnvContext(
            experiment_config=ExperimentConfig({}), hparams={"global_batch_size": 4}, trial_seed=1, size=size
        )

    one = _rng.session_config(None, slots(1), 1)
    assert (one.intra_op_parallelism_threads, one.inter_op_parallelism_threads) == (1, 1)
    two = _rng.session_config(None, slots(2), 1)
    assert (two.intra_op_parallelism_threads, two.inter_op_parallelism_threads) == (1, 4)
    given = v1.ConfigProto(inter_op_parallelism_threads=7)
    assert _rng.session_config(given, slots(1), 1).inter_op_parallelism_threads == 7
