"""All random number generators of a TensorFlow trial: seeding, saving and restoring them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tensorflow.python.eager import context as eager_context

from determined._env import EnvContext
from determined._run import _random_state
from determined._tensorflow import _determinism
from determined._tensorflow._framework import tf, v1
from determined._tensorflow._random import seeds


def prepare_process(env: EnvContext, threads: int) -> None:
    """Seeds all generators and sets the number of threads, before any graph is built."""
    _random_state.seed(env.trial_seed)
    tf.random.set_seed(env.trial_seed)
    _determinism.enable(env.trial_seed)
    with contextlib.suppress(RuntimeError):  # TensorFlow is already initialized, in a test or a notebook
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(max(2, threads))
    seeds.install(env.rank)


def session_config(given: Any, env: EnvContext, threads: int) -> Any:
    """The configuration of a session: the user's settings, and the platform's for those that the user leaves open."""
    config = (
        v1.ConfigProto(allow_soft_placement=True)
        if given is None
        else v1.ConfigProto.FromString(given.SerializeToString())
    )
    if config.intra_op_parallelism_threads == 0:
        config.intra_op_parallelism_threads = threads
    if config.inter_op_parallelism_threads == 0:
        # Exchanges of gradients block a thread. With more threads than cores, small models are a quarter slower.
        config.inter_op_parallelism_threads = max(4, threads) if env.size > 1 else threads
    if env.size > 1 and not config.gpu_options.visible_device_list and tf.config.list_physical_devices("GPU"):
        config.gpu_options.visible_device_list = str(env.local_rank)
    config.gpu_options.allow_growth = True
    return config


def state() -> dict[str, Any]:
    """The state of all generators of this process."""
    saved = _random_state.state()
    generator = getattr(eager_context.context(), "_rng", None)
    if generator is not None:
        saved["tf_op_seeds"] = generator.getstate()
    return saved


def restore(saved: dict[str, Any]) -> None:
    """Restores what ``state`` returned."""
    _random_state.restore(saved)
    generator = getattr(eager_context.context(), "_rng", None)
    if generator is not None and "tf_op_seeds" in saved:
        generator.setstate(saved["tf_op_seeds"])


def untouched() -> AbstractContextManager[None]:
    """Restores the generators at the end of the block."""
    return _random_state.unchanged(state, restore)


@contextlib.contextmanager
def seeded(number: int) -> Iterator[None]:
    """Seeds the generators with a number for the block, and restores them at its end."""
    with untouched():
        _random_state.seed(number)
        generator = getattr(eager_context.context(), "_rng", None)
        if generator is not None:
            generator.seed(number)
        yield
