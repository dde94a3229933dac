"""The names that model definitions and programs import (trial-api.md, chapter 1)."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import pytest

import determined as det
from determined import _core, core
from determined.common import util
from determined.exec import harness
from determined.horovod import HorovodContext, hvd
from determined.launch import torch_distributed

NAMES = {
    "determined": "TrialContext NativeContext Trial TrialController ExperimentConfig EnvContext Constant Integer "
    "Double Log Categorical InvalidHP errors util __version__ get_cluster_info import_from_path TrialInfo LegacyTrial",
    "determined.pytorch": "PyTorchTrial PyTorchTrialContext PyTorchExperimentalContext DataLoader TorchData "
    "LRScheduler Reducer MetricReducer PyTorchCallback ClipGradsL2Norm ClipGradsL2Value reset_parameters "
    "data_length to_device samplers RepeatBatchSampler DistributedBatchSampler SkipBatchSampler "
    "adapt_batch_sampler load_trial_from_checkpoint_path Trainer init",
    "determined.experimental": "create create_trial_instance test_one_batch Mode Determined Checkpoint "
    "ExperimentReference TrialReference Model ModelSortBy ModelOrderBy client Experiment ModelVersion OrderBy Project "
    "Trial TrialOrderBy TrialSortBy",
    "determined.experimental.client": "CheckpointOrderBy CheckpointSortBy CheckpointState DownloadMode "
    "ExperimentOrderBy ExperimentSortBy "
    "ExperimentState Project ResourcePool TrainingMetrics TrialMetrics TrialOrderBy TrialSortBy TrialState User "
    "ValidationMetrics Workspace create_experiment create_model create_user create_workspace delete_workspace "
    "get_checkpoint get_experiment get_model get_model_by_id get_model_labels get_models get_session_username "
    "get_trial get_user_by_id get_user_by_name get_workspace iter_trials_metrics list_experiments list_models "
    "list_users list_workspaces login logout stream_trials_metrics stream_trials_training_metrics "
    "stream_trials_validation_metrics whoami",
    "determined.errors": "CheckpointStateException InvalidModelException NoDirectStorageAccess",
    "determined.util": "download_gcs_blob_with_backoff",
    "determined.horovod": "hvd HorovodContext",
    "determined.tensorboard.metric_writers.pytorch": "TorchWriter",
    "determined.common": "check api util experimental constants set_logger",
    "determined.common.api.errors": "BadResponseException InvalidCredentialsException",
    "determined.common.constants": "DEFAULT_CHECKPOINT_PATH DEFAULT_DETIGNORE MAX_CONTEXT_SIZE",
    "determined.common.experimental.checkpoint": "Checkpoint CheckpointOrderBy CheckpointSortBy CheckpointState",
    "determined.common.experimental.determined": "Determined",
    "determined.common.experimental.experiment": "Experiment ExperimentReference ExperimentSortBy ExperimentState",
    "determined.common.experimental.metrics": "TrainingMetrics TrialMetrics ValidationMetrics",
    "determined.common.experimental.model": "Model ModelOrderBy ModelSortBy ModelVersion",
    "determined.common.experimental.project": "Project",
    "determined.common.experimental.resource_pool": "ResourcePool",
    "determined.common.experimental.trial": "LogLevel Trial TrialReference TrialSortBy TrialState",
    "determined.common.experimental.user": "User",
    "determined.common.experimental.workspace": "Workspace",
    "determined_common": "check api util experimental constants",
    "determined_common.experimental.trial": "Trial",
    "determined.core": "Context init DummyDistributedContext DummyPreemptContext DummyProfilerContext "
    "DummySearcherContext DummyTrainContext",
    "determined.exec.harness": "main",
    "determined._core": "Context init",
}


@pytest.mark.parametrize("module", NAMES)
def test_every_documented_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    missing = []
    for name in NAMES[module].split():
        try:
            hasattr(found, name) or importlib.import_module(f"{module}.{name}")
        except ImportError:
            missing.append(name)
    assert missing == []


def test_importing_the_package_imports_no_framework() -> None:
    program = "import sys, determined, determined.core; print({'torch', 'tensorflow'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "set()\n"


def test_the_parts_of_nobodys_trial_work_alone(tmp_path: pathlib.Path) -> None:
    ranks = core.DummyDistributedContext()
    for operation in core.DummySearcherContext(ranks, length=7).operations():
        assert operation.length == 7
        operation.report_completed(0.5)
    assert core.DummyTrainContext(tmp_path).get_tensorboard_path() == tmp_path
    core.DummyTrainContext().report_training_metrics(1, {"loss": 0.5})
    assert not core.DummyPreemptContext(ranks).start().should_preempt()
    core.DummyProfilerContext().off()


def test_the_private_core_of_0_17_has_its_own_names_for_the_parts() -> None:
    with _core.init() as context:
        assert isinstance(context, core.Context)
        parts = vars(context)
        assert (parts["training"], parts["checkpointing"]) == (context.train, context.checkpoint)
        assert parts["preemption"] is context.preempt


def test_code_of_a_checkpoint_is_imported_from_its_directory_and_forgotten(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_of_old.py").write_text("answer = 42\n")
    with det.import_from_path(tmp_path):
        assert importlib.import_module("model_of_old").answer == 42
    assert "model_of_old" not in sys.modules
    assert str(tmp_path) not in sys.path


def test_hvd_answers_questions_about_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    hvd.init()
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_size()) == (0, 1, 0, 1, 1)
    for name, value in {"RANK": 5, "SIZE": 8, "LOCAL_RANK": 1, "LOCAL_SIZE": 4, "CROSS_RANK": 1}.items():
        monkeypatch.setenv(f"DET_{name}", str(value))
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (5, 8, 1, 4)
    assert (hvd.cross_rank(), hvd.cross_size()) == (1, 2)
    with pytest.raises(AttributeError, match=r"hvd\.allreduce is not available: the platform exchanges gradients"):
        hvd.allreduce(1)


def test_a_horovod_context_is_read_from_a_configuration() -> None:
    context = HorovodContext.from_configs(
        {
            "resources": {"slots_per_trial": 2},
            "optimizations": {"aggregation_frequency": 3, "gradient_compression": True},
        }
    )
    assert context == HorovodContext(use=True, aggregation_frequency=3)
    assert not HorovodContext.from_configs({}).use


def test_a_list_is_cut_into_chunks() -> None:
    assert list(util.chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    with pytest.raises(ValueError, match="size is 0; it must be at least 1"):
        list(util.chunks([1], 0))


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0.0B"), (1023, "1023.0B"), (1536, "1.5KB"), (5 << 30, "5.0GB"), (2 << 50, "2.0PB")]
)
def test_a_number_of_bytes_is_told_for_people(number: int, text: str) -> None:
    assert util.sizeof_fmt(number) == text


@pytest.mark.parametrize("words", [["m:C"], ["--trial", "m:C"]])
def test_the_harness_of_other_releases_is_the_same_launcher(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(torch_distributed, "main", lambda: asked.append(sys.argv[1:]) or 0)
    monkeypatch.setattr(sys, "argv", ["harness", *words])
    assert harness.main() == 0
    assert torch_distributed.command(asked[0], [])[-3:] == ["-m", "determined.launch.trial", "m:C"]


def test_the_harness_wants_one_class(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["harness"])
    assert harness.main() == 2
    assert "usage: python3 -m determined.exec.harness MODULE:CLASS" in capsys.readouterr().err
