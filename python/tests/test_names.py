"""The names that model definitions and programs import (trial-api.md, chapter 1)."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from determined import _core, core
from determined.common import util

NAMES = {
    "determined": "TrialContext Trial TrialController ExperimentConfig EnvContext Constant Integer Double Log "
    "Categorical InvalidHP errors util __version__ get_cluster_info",
    "determined.pytorch": "PyTorchTrial PyTorchTrialContext PyTorchExperimentalContext DataLoader TorchData "
    "LRScheduler Reducer MetricReducer PyTorchCallback ClipGradsL2Norm ClipGradsL2Value reset_parameters "
    "data_length to_device samplers RepeatBatchSampler DistributedBatchSampler SkipBatchSampler "
    "adapt_batch_sampler load_trial_from_checkpoint_path Trainer init",
    "determined.experimental": "create create_trial_instance test_one_batch Mode Determined Checkpoint "
    "ExperimentReference TrialReference Model ModelSortBy ModelOrderBy client",
    "determined.util": "download_gcs_blob_with_backoff",
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


def test_a_list_is_cut_into_chunks() -> None:
    assert list(util.chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    with pytest.raises(ValueError, match="size is 0; must be at least 1"):
        list(util.chunks([1], 0))


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0.0B"), (1023, "1023.0B"), (1536, "1.5KB"), (5 << 30, "5.0GB"), (2 << 50, "2.0PB")]
)
def test_a_number_of_bytes_is_told_for_people(number: int, text: str) -> None:
    assert util.sizeof_fmt(number) == text
