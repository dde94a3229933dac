"""What a trial can ask of its context, and what the environment must say."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch
from harness import Run
from trials import ContextTrial

import determined as det
from determined import _hyperparameters
from determined._env import EnvContext, split_batch
from determined._experiment_config import ExperimentConfig
from determined.common.check import CheckFailedError
from determined.experimental import create_trial_instance
from determined.pytorch import PyTorchTrialContext

CONFIG: dict[str, Any] = {
    "data": {"url": "somewhere"},
    "reproducibility": {"experiment_seed": 5},
    "hyperparameters": {
        "global_batch_size": {"type": "const", "val": 32},
        "lr": {"type": "log", "minval": -3, "maxval": -1},
        "layers": {"type": "int", "minval": 1, "maxval": 3},
        "kind": {"type": "categorical", "vals": ["a", "b"]},
        "nested": {"rate": {"type": "double", "minval": 0, "maxval": 1}, "fixed": 7},
    },
}


def test_importing_the_package_imports_no_framework() -> None:
    code = "import determined, determined.errors, sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=pathlib.Path(__file__).parents[2]).returncode == 0


def test_the_package_offers_its_documented_names() -> None:
    for name in [
        "TrialContext",
        "Trial",
        "TrialController",
        "ExperimentConfig",
        "EnvContext",
        "Constant",
        "Integer",
        "Double",
        "Log",
        "Categorical",
        "InvalidHP",
        "errors",
        "util",
        "__version__",
    ]:
        assert hasattr(det, name)
    assert det.Integer(1, 5) == {"type": "int", "minval": 1, "maxval": 5}
    assert det.Log(-4, -1) == {"type": "log", "minval": -4, "maxval": -1, "base": 10}
    assert det.Double(0, 1)["type"] == "double"
    assert det.Constant(3) == {"type": "const", "val": 3}
    assert det.Categorical([1, 2])["vals"] == [1, 2]
    with pytest.raises(TypeError):
        det.InvalidHP(3)  # type: ignore[arg-type]
    assert issubclass(det.errors.InvalidExperimentException, BaseException)
    assert not issubclass(det.errors.InvalidExperimentException, Exception)


def test_the_former_name_of_common_has_the_same_objects() -> None:
    import determined_common.check

    from determined.common import check

    assert determined_common.check is check


def test_a_context_from_a_configuration_draws_hyperparameters_from_their_ranges() -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    assert 0.001 <= context.get_hparam("lr") <= 0.1
    assert context.get_hparam("layers") in (1, 2, 3)
    assert context.get_hparam("kind") in ("a", "b")
    assert context.get_hparam("nested")["fixed"] == 7
    assert 0 <= context.get_hparams()["nested"]["rate"] <= 1
    assert context.get_data_config() == {"url": "somewhere"}
    assert context.get_trial_seed() == 5
    assert (context.get_experiment_id(), context.get_trial_id()) == (1, 1)
    assert context.get_hparams() == PyTorchTrialContext.from_config(CONFIG).get_hparams()


def test_outside_a_cluster_a_trial_finds_the_sections_that_a_cluster_fills_in() -> None:
    given = {"resources": {"slots_per_trial": 4}, "optimizations": {"aggregation_frequency": 3}}
    hparams = {"hyperparameters": {"global_batch_size": 4}, "scheduling_unit": 7, "searcher": {"metric": "loss"}}
    debugged = create_trial_instance(ContextTrial, config={**hparams, **given})
    contexts = [PyTorchTrialContext.from_config(hparams), debugged.context]  # type: ignore[attr-defined]
    for config in [context.get_experiment_config() for context in contexts]:
        assert config["resources"] == {"slots_per_trial": 1, "native_parallel": False}
        assert config["optimizations"]["aggregation_frequency"] == 1
        assert config["optimizations"]["average_aggregated_gradients"]
        assert (config["scheduling_unit"], config["searcher"]) == (7, {"metric": "loss"})
        config["resources"]["slots_per_trial"] = 9  # is this one's own


def test_every_value_of_a_range_can_be_drawn() -> None:
    drawn = {_hyperparameters.sample({"n": det.Integer(1, 3)}, seed)["n"] for seed in range(50)}
    assert drawn == {1, 2, 3}
    with pytest.raises(ValueError, match=r"hyperparameters.n has the type int, which needs maxval"):
        _hyperparameters.sample({"n": {"type": "int", "minval": 1}}, 0)


def test_outside_the_platform_wrapping_only_records() -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    assert context.wrap_model(model) is model
    assert context.wrap_optimizer(optimizer) is optimizer
    assert context.configure_apex_amp(model, optimizer, opt_level="O2") == (model, optimizer)
    context.backward(model(torch.ones(1)).sum())
    weight = model.weight.item()
    context.step_optimizer(optimizer)
    assert model.weight.item() == weight - 1
    assert context.models == [model]


def test_only_optimizers_are_wrapped_and_on_several_slots_only_wrapped_ones_step(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    model = context.wrap_model(torch.nn.Linear(1, 1))
    with pytest.raises(CheckFailedError, match="Got a Linear, expected a Optimizer: wrap_optimizer"):
        context.wrap_optimizer(model)  # type: ignore[type-var]
    mine, other = (torch.optim.SGD(model.parameters(), lr=1) for _ in range(2))
    context.wrap_optimizer(mine)
    context.step_optimizer(mine)
    context.step_optimizer(other)
    context.step_optimizer(other)
    assert [record.getMessage() for record in caplog.records if "SGD that is not wrapped" in record.message] == [
        "step_optimizer() got a SGD that is not wrapped: its state is not in checkpoints; pass what "
        "wrap_optimizer() returned"
    ]
    monkeypatch.setattr(context.distributed, "size", 2)
    with pytest.raises(CheckFailedError, match=r"Got a SGD that is not wrapped, expected .* on several slots"):
        context.step_optimizer(other)


def test_a_loss_without_a_gradient_is_refused() -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    with pytest.raises(CheckFailedError, match=r"Got 1.0 \(type float\), expected a tensor .*: context.backward\(\)"):
        context.backward(1.0)  # type: ignore[arg-type]
    with pytest.raises(CheckFailedError, match="Got a tensor with requires_grad False, expected a tensor that has a"):
        context.backward(torch.ones(1))
    context.backward([torch.ones(1, requires_grad=True).sum()] * 2)  # type: ignore[arg-type]


def test_a_missing_hyperparameter_is_named_with_its_section(caplog: pytest.LogCaptureFixture) -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    with pytest.raises(ValueError, match=r"'rate'.* hyperparameters section .*global_batch_size, kind"):
        context.get_hparam("rate")
    assert context.get_hparam("global_batch_size") == 32
    assert "get_per_slot_batch_size" in caplog.text


def test_ranks_can_be_asked_in_both_ways() -> None:
    context = PyTorchTrialContext.from_config(CONFIG)
    for place in (context, context.distributed):
        ranks = (place.get_rank(), place.get_local_rank(), place.get_size(), place.get_num_agents())
        assert ranks == (0, 0, 1, 1)
    assert context.distributed.allgather(3) == [3]


@pytest.mark.parametrize(
    ("hparams", "slots", "expected"),
    [({"global_batch_size": 64}, 1, (64, 64)), ({"global_batch_size": 65}, 4, (16, 64))],
)
def test_the_slots_share_the_batch(hparams: dict[str, Any], slots: int, expected: Any) -> None:
    assert split_batch(hparams, slots) == expected


def test_native_parallel_leaves_the_batch_whole() -> None:
    assert split_batch({"global_batch_size": 64}, 4, native_parallel=True) == (64, 64)


@pytest.mark.parametrize(
    ("hparams", "text"),
    [
        ({}, "global_batch_size is missing"),
        ({"global_batch_size": 64.0}, "is 64.0; it must be a whole number"),
        ({"global_batch_size": True}, "is True; it must be a whole number"),
        ({"global_batch_size": 3}, "is 3; it must be at least the number of slots, 4"),
    ],
)
def test_a_batch_size_that_cannot_be_is_refused(hparams: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        split_batch(hparams, 4)


def environment(**changes: str | None) -> dict[str, str]:
    whole: dict[str, str | None] = {
        "DET_EXPERIMENT_CONFIG": json.dumps({"entrypoint": "a:B"}),
        "DET_HPARAMS": '{"global_batch_size": 8}',
        "DET_TRIAL_SEED": "9",
        "DET_EXPERIMENT_ID": "3",
        "DET_TRIAL_ID": "4",
        **changes,
    }
    return {name: value for name, value in whole.items() if value is not None}


def test_the_environment_of_a_trial_is_read() -> None:
    env = EnvContext.from_environment(environment(DET_LATEST_CHECKPOINT="abc", DET_WARM_START="1", DET_RANK="0"))
    assert (env.trial_seed, env.experiment_id, env.trial_id, env.per_slot_batch_size) == (9, 3, 4, 8)
    assert (env.latest_checkpoint, env.warm_start, env.size, env.managed_training) == ("abc", True, 1, True)
    assert EnvContext.from_environment(environment()).latest_checkpoint is None


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"DET_TRIAL_SEED": None}, "DET_TRIAL_SEED is not set"),
        ({"DET_TRIAL_SEED": "x"}, "DET_TRIAL_SEED is 'x'; it must be a whole number"),
        ({"DET_HPARAMS": "{"}, "DET_HPARAMS is not JSON"),
        ({"DET_HPARAMS": "[]"}, "DET_HPARAMS is a JSON list"),
    ],
)
def test_an_environment_that_is_not_one_of_a_trial_is_named(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        EnvContext.from_environment(environment(**changes))


@pytest.mark.parametrize(
    ("period", "batches"),
    [
        (None, 0),
        ({"batches": 7}, 7),
        ({"records": 100}, 12),
        ({"records": 3}, 1),
        ({"epochs": 2}, 250),
        ({"batches": 0}, 0),
        (5, 5),
    ],
)
def test_periods_are_counted_in_batches(period: Any, batches: int) -> None:
    config = ExperimentConfig({"records_per_epoch": 1000, "min_validation_period": period})
    assert config.period_in_batches("min_validation_period", 8) == batches


def test_epochs_need_records_per_epoch() -> None:
    with pytest.raises(ValueError, match="min_validation_period is in epochs, which needs records_per_epoch"):
        ExperimentConfig({"min_validation_period": {"epochs": 1}}).period_in_batches("min_validation_period", 8)


def test_a_trial_sees_its_environment(tmp_path: pathlib.Path) -> None:
    context: Any = Run(ContextTrial, tmp_path, lengths=[1]).context
    assert context.env.managed_training
    assert context.env.hparams == {"global_batch_size": 4}
    assert context.device == torch.device("cpu")
    assert context.get_model() is context.models[0]
    assert context.get_optimizer() is context.optimizers[0]
    assert context.get_lr_scheduler() is None


def test_blobs_are_read_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)

    class Blob:
        tries = 0

        def download_as_string(self) -> bytes:
            self.tries += 1
            if self.tries < 3:
                raise OSError("not yet")
            return b"data"

    assert det.util.download_gcs_blob_with_backoff(Blob()) == b"data"
    with pytest.raises(OSError, match="not yet"):
        det.util.download_gcs_blob_with_backoff(Blob(), n_retries=2)


def test_a_profiler_steps_with_every_batch_and_leaves_its_trace(tmp_path: pathlib.Path) -> None:
    places: list[pathlib.Path] = []

    class Profiled(ContextTrial):
        def __init__(self, context: PyTorchTrialContext) -> None:
            super().__init__(context)
            places.append(context.get_tensorboard_path())
            schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
            context.set_profiler(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule)

    before = set(_traces(Profiled, tmp_path, places, batches=3))
    (trace,) = set(_traces(Profiled, tmp_path, places, batches=4)) - before
    assert trace.name.startswith("rank0.")
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {"ProfilerStep#2", "ProfilerStep#3", "aten::linear"}


def _traces(kind: Any, place: pathlib.Path, places: list[pathlib.Path], batches: int) -> list[pathlib.Path]:
    run = Run(kind, place, lengths=[batches]).start().finish()
    run.controller.close()
    return list(places[-1].glob("*.pt.trace.json"))
