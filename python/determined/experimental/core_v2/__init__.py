"""The Core API for programs that run anywhere: on a cluster, or outside one but tracked by a master.

::

    from determined.experimental import core_v2

    core_v2.init(config=core_v2.Config(name="laptop", external_experiment_id="laptop", external_trial_id="1"))
    for step in range(core_v2.info.trial.steps_completed, 100):
        ...
        core_v2.train.report_training_metrics(steps_completed=step + 1, metrics={"loss": loss})
    core_v2.close()

Outside a cluster, the program is shown as an *unmanaged* experiment of the logged-in user (``det user login``, or
``DET_MASTER``, ``DET_USER`` and ``DET_PASS``). On a cluster, the arguments about the experiment are ignored, and the
context belongs to the trial that this process runs.
"""

from __future__ import annotations

from typing import Any

from determined.core import DistributedContext, PreemptMode, TensorboardMode
from determined.experimental.core_v2._config import Config, DefaultConfig, UnmanagedConfig
from determined.experimental.core_v2._singleton import NotBegun, close, init, init_context, url_reverse_webui_exp_view

# What `init` sets and `close` takes back; otherwise false, and its calls say so.
train: Any = NotBegun("train")
"""A :class:`determined.core.TrainContext`."""
checkpoint: Any = NotBegun("checkpoint")
"""A :class:`determined.core.CheckpointContext`."""
distributed: Any = NotBegun("distributed")
"""A :class:`determined.core.DistributedContext`."""
preempt: Any = NotBegun("preempt")
"""A :class:`determined.core.PreemptContext`; outside a cluster nothing is preempted."""
searcher: Any = NotBegun("searcher")
"""A :class:`determined.core.SearcherContext`; outside a cluster it requests a single length of 1."""
info: Any = None
"""A :class:`determined.ClusterInfo`; None before :func:`init`."""

__all__ = [
    "Config",
    "DefaultConfig",
    "DistributedContext",
    "PreemptMode",
    "TensorboardMode",
    "UnmanagedConfig",
    "checkpoint",
    "close",
    "distributed",
    "info",
    "init",
    "init_context",
    "preempt",
    "searcher",
    "train",
    "url_reverse_webui_exp_view",
]
