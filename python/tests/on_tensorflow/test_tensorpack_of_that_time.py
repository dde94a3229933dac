"""Tensorpack trials as they were written for TensorFlow 1.13 to 2.4."""

from __future__ import annotations

import pathlib
from typing import Any

import of_their_time
import pytest
from of_their_time import FIRST, SECOND, assert_trains_validates_and_resumes, config_of


@pytest.fixture(scope="module", autouse=True)
def _environment() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        of_their_time.environment(patch)
        yield


@pytest.mark.parametrize(
    ("entrypoint", "config", "said"),
    [
        ("convnet:ConvnetTrial", config_of("val_accuracy", steps=True), "the code uses tf.placeholder"),
        ("residual:ResidualTrial", config_of("val_error", image=FIRST), "names TensorFlow 1.15"),
        ("evaluated:EvaluatedTrial", config_of("norm"), "the code uses tf.contrib"),
        ("accumulated:AccumulatedTrial", config_of("val_loss_of_batch", steps=True), "the code uses tf.glorot"),
        ("recurrent:RecurrentTrial", config_of("val_perplexity"), "the code uses tf.get_variable"),
        ("backbone:BackboneTrial", config_of("val_cost", image=SECOND), "names TensorFlow 2.4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tensorpack_trial_of_that_time_trains_validates_and_resumes(
    entrypoint: str, config: Any, said: str, tmp_path: pathlib.Path
) -> None:
    found = assert_trains_validates_and_resumes("tensorpack", entrypoint, config, tmp_path)
    assert [said in line for line in found["log"] if line.startswith("treating the code as")] == [True]
