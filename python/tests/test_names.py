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
from determined.horovod import HorovodContext, hvd

NAMES = {
    "determined": "TrialContext NativeContext Trial TrialController ExperimentConfig EnvContext Constant Integer "
    "Double Log Categorical InvalidHP errors util __version__ get_cluster_info import_from_path",
    "determined.pytorch": "PyTorchTrial PyTorchTrialContext PyTorchExperimentalContext DataLoader TorchData "
    "LRScheduler Reducer MetricReducer PyTorchCallback ClipGradsL2Norm ClipGradsL2Value reset_parameters "
    "data_length to_device samplers RepeatBatchSampler DistributedBatchSampler SkipBatchSampler "
    "adapt_batch_sampler load_trial_from_checkpoint_path Trainer init",
    "determined.experimental": "create create_trial_instance test_one_batch Mode Determined Checkpoint "
    "ExperimentReference TrialReference Model ModelSortBy ModelOrderBy client",
    "determined.util": "download_gcs_blob_with_backoff",
    "determined.horovod": "hvd HorovodContext",
    "determined.tensorboard.metric_writers.pytorch": "TorchWriter",
    "determined.common": "check api util experimental",
    "determined_common": "check api util experimental",
    "determined.core": "Context init",
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


def test_horovod_is_asked_for_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    hvd.init()
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_size()) == (0, 1, 0, 1, 1)
    for name, value in {"RANK": 5, "SIZE": 8, "LOCAL_RANK": 1, "LOCAL_SIZE": 4, "CROSS_RANK": 1}.items():
        monkeypatch.setenv(f"DET_{name}", str(value))
    assert (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()) == (5, 8, 1, 4)
    assert (hvd.cross_rank(), hvd.cross_size()) == (1, 2)
    with pytest.raises(AttributeError, match=r"hvd\.allreduce is not there: the platform exchanges gradients"):
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
    with pytest.raises(ValueError, match="size is 0; must be at least 1"):
        list(util.chunks([1], 0))


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0.0B"), (1023, "1023.0B"), (1536, "1.5KB"), (5 << 30, "5.0GB"), (2 << 50, "2.0PB")]
)
def test_a_number_of_bytes_is_told_for_people(number: int, text: str) -> None:
    assert util.sizeof_fmt(number) == text
