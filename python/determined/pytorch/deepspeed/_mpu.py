"""What a rank does in a model that is distributed over ranks."""

from __future__ import annotations

import dataclasses
from typing import Any

from determined._ranks._distributed import DistributedContext


@dataclasses.dataclass(frozen=True)
class ModelParallelUnit:
    """The place of this rank among those that hold the model together. Pass it to ``context.set_mpu()``."""

    data_parallel_rank: int
    """Which share of the data it trains on, from 0."""
    data_parallel_world_size: int
    """The number of shares."""
    should_report_metrics: bool
    """Whether its ``train_batch`` and ``evaluate_batch`` return metrics."""
    should_build_data_loader: bool
    """Whether it reads data. Otherwise its methods get None in place of an iterator."""


def make_data_parallel_mpu(dist_context: DistributedContext) -> ModelParallelUnit:
    """For a model that every rank holds whole: each rank reads its own data and reports."""
    return ModelParallelUnit(dist_context.rank, dist_context.size, True, True)


def make_deepspeed_mpu(mpu: Any) -> ModelParallelUnit:
    """For an object with the methods that DeepSpeed expects of a model parallel unit, such as the grid of its pipelines
    (``engine.mpu``).

    The first and the last stage of a pipeline read data. The last stage reports, by its first rank.
    """
    stage = mpu.get_pipe_parallel_rank() if hasattr(mpu, "get_pipe_parallel_rank") else 0
    stages = mpu.get_pipe_parallel_world_size() if hasattr(mpu, "get_pipe_parallel_world_size") else 1
    # What a grid calls model parallel counts stages, too.
    part = mpu.get_slice_parallel_rank() if hasattr(mpu, "get_slice_parallel_rank") else mpu.get_model_parallel_rank()
    return ModelParallelUnit(
        data_parallel_rank=mpu.get_data_parallel_rank(),
        data_parallel_world_size=mpu.get_data_parallel_world_size(),
        should_report_metrics=stage == stages - 1 and part == 0,
        should_build_data_loader=stage in (0, stages - 1),
    )
