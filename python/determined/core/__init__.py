"""The Core API: the services of the platform for your own training loop, in any framework.

::

    import determined as det

    with det.core.init() as context:
        for op in context.searcher.operations():
            for step in range(start, op.length):
                ...
                context.train.report_training_metrics(step + 1, {"loss": loss})
                if context.preempt.should_preempt():
                    return
            op.report_completed(validation_loss)

Everything also works outside a cluster: metrics are logged, and checkpoints are stored in a directory.
"""

from determined.core._checkpoint import CheckpointContext, DownloadMode
from determined.core._context import Context, TensorboardMode, init
from determined.core._distributed import DistributedContext
from determined.core._dummy import (
    DummyDistributedContext,
    DummyPreemptContext,
    DummyProfilerContext,
    DummySearcherContext,
    DummyTrainContext,
)
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext, SearcherMode, SearcherOperation, Unit
from determined.core._train import EarlyExitReason, TrainContext

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "DummyDistributedContext",
    "DummyPreemptContext",
    "DummyProfilerContext",
    "DummySearcherContext",
    "DummyTrainContext",
    "EarlyExitReason",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "init",
]
