"""What of DeepSpeed trials needs no DeepSpeed; tests/e2e/training/test_deepspeed.py trains with it."""

import dataclasses
import json
import pathlib

import pytest
import torch

from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._ranks._distributed import DistributedContext
from determined.errors import InvalidExperimentException
from determined.pytorch import deepspeed
from determined.pytorch.deepspeed import _controller

BASE: dict[str, object] = {"train_batch_size": 8, "zero_optimization": {"stage": 0, "offload": {"device": "cpu"}}}


def environment(**config: object) -> EnvContext:
    return EnvContext(
        experiment_config=ExperimentConfig(config), hparams={"global_batch_size": 4}, trial_seed=5, use_gpu=False
    )


def test_a_configuration_is_overwritten_key_by_key(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ds.json").write_text(json.dumps(BASE))
    changes = {"train_batch_size": 16, "zero_optimization": {"stage": 2}, "fp16": {"enabled": True}}
    expected = {
        "train_batch_size": 16,
        "zero_optimization": {"stage": 2, "offload": {"device": "cpu"}},
        "fp16": {"enabled": True},
    }
    assert deepspeed.overwrite_deepspeed_config(BASE, changes) == expected
    assert deepspeed.overwrite_deepspeed_config(str(tmp_path / "ds.json"), changes) == expected
    assert BASE["zero_optimization"] == {"stage": 0, "offload": {"device": "cpu"}}
    with pytest.raises(TypeError, match="must be a dict, or the path of a JSON file"):
        deepspeed.overwrite_deepspeed_config(7, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--deepspeed_config", "ds.json"], "ds.json"),
        (["-x", "--deepspeed-config=ds.json"], "ds.json"),
        (["--deepspeed_config"], None),
        (["--deepspeed"], None),
    ],
)
def test_the_configuration_is_found_among_arguments(words: list[str], found: str | None) -> None:
    assert deepspeed.get_ds_config_from_args(words) == found


@dataclasses.dataclass
class Grid:
    """As in DeepSpeed's pipelines: two stages of two parts of a layer, twice."""

    stage: int
    part: int
    replica: int

    def get_pipe_parallel_rank(self) -> int:
        return self.stage

    def get_pipe_parallel_world_size(self) -> int:
        return 3

    def get_slice_parallel_rank(self) -> int:
        return self.part

    def get_data_parallel_rank(self) -> int:
        return self.replica

    def get_data_parallel_world_size(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("grid", "reports", "reads"),
    [
        (Grid(0, 0, 1), False, True),
        (Grid(1, 0, 1), False, False),
        (Grid(2, 0, 1), True, True),
        (Grid(2, 1, 1), False, True),
    ],
)
def test_the_ends_of_a_pipeline_read_and_its_last_stage_reports(grid: Grid, reports: bool, reads: bool) -> None:
    assert deepspeed.make_deepspeed_mpu(grid) == deepspeed.ModelParallelUnit(1, 2, reports, reads)


def test_without_a_model_parallel_unit_every_rank_has_the_whole_model() -> None:
    ranks = DistributedContext(rank=3, size=4, local_rank=1, local_size=2)
    assert deepspeed.make_data_parallel_mpu(ranks) == deepspeed.ModelParallelUnit(3, 4, True, True)


def test_what_belongs_to_the_engine_is_refused_with_what_to_do() -> None:
    context = deepspeed.DeepSpeedTrialContext(environment())
    for name in ("wrap_model", "wrap_optimizer", "wrap_lr_scheduler", "wrap_scaler", "backward", "step_optimizer"):
        with pytest.raises(InvalidExperimentException, match=rf"no context\.{name}\(\).*wrap_model_engine"):
            getattr(context, name)(None)
    with pytest.raises(Exception, match="known after the first wrap_model_engine"):
        _ = context.train_micro_batch_size_per_gpu


def test_gradients_are_aggregated_by_deepspeed_only() -> None:
    with pytest.raises(InvalidExperimentException, match="gradient_accumulation_steps"):
        deepspeed.DeepSpeedTrialContext(environment(optimizations={"aggregation_frequency": 2}))


def test_the_metrics_of_micro_batches_are_averaged() -> None:
    rows = [{"loss": torch.tensor(1.0), "lr": 1, "name": "a"}, {"loss": torch.tensor(2.0), "lr": 2, "name": "b"}]
    assert _controller._mean(rows) == {"loss": torch.tensor(1.5), "lr": 1.5, "name": "b"}
    with pytest.raises(Exception, match="the same metrics for every micro-batch"):
        _controller._mean([{"loss": 1}, {"accuracy": 1}])
