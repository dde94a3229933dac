"""Parts of a context without a trial, for tests of training loops.

They behave like the parts of :func:`determined.core.init` outside a cluster: reports are logged, the searcher requests
one length, nothing is preempted, and nothing is measured.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext
from determined.core._train import TrainContext


class DummyDistributedContext(DistributedContext):
    def __init__(self) -> None:
        super().__init__(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)


class DummyTrainContext(TrainContext):
    """Stores event files in ``tensorboard_path``, by default a new directory."""

    def __init__(self, tensorboard_path: pathlib.Path | None = None) -> None:
        super().__init__(DummyDistributedContext(), None, None)
        self._tensorboard_path = tensorboard_path

    def get_tensorboard_path(self) -> pathlib.Path:
        return self._tensorboard_path or super().get_tensorboard_path()


class DummyPreemptContext(PreemptContext):
    def __init__(self, dist: DistributedContext, preempt_mode: PreemptMode = PreemptMode.WorkersAskChief) -> None:
        super().__init__(dist, None, None, preempt_mode)


class DummySearcherContext(SearcherContext):
    """Requests ``length``."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(dist, DummyPreemptContext(dist), None, None)
        self._length = length

    def _next_lengths(self) -> Iterator[int]:
        yield self._length


class DummyProfilerContext(ProfilerContext):
    def __init__(self) -> None:
        super().__init__(DummyDistributedContext(), None, None)
