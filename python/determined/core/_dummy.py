"""The parts of a context of nobody's trial, for tests of training loops.

They do what the parts of :func:`determined.core.init` do outside the cluster: reports are logged, the search asks once,
nothing is preempted, nothing is measured.
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
    """Its event files are in ``tensorboard_path``, by default in a directory of their own."""

    def __init__(self, tensorboard_path: pathlib.Path | None = None) -> None:
        super().__init__(DummyDistributedContext(), None, None)
        self._tensorboard_path = tensorboard_path

    def get_tensorboard_path(self) -> pathlib.Path:
        return self._tensorboard_path or super().get_tensorboard_path()


class DummyPreemptContext(PreemptContext):
    def __init__(self, dist: DistributedContext, preempt_mode: PreemptMode = PreemptMode.WorkersAskChief) -> None:
        super().__init__(dist, None, None, preempt_mode)


class DummySearcherContext(SearcherContext):
    """Asks for ``length``."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(dist, DummyPreemptContext(dist), None, None)
        self._length = length

    def _next_lengths(self) -> Iterator[int]:
        yield self._length


class DummyProfilerContext(ProfilerContext):
    def __init__(self) -> None:
        super().__init__(DummyDistributedContext(), None, None)
