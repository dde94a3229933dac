"""Estimator trials as they were written for TensorFlow 1.13 to 2.4."""

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
        ("wide_and_deep:WideAndDeepTrial", config_of("auc", steps=True), "the code uses tf.ConfigProto"),
        ("convolutional:ConvolutionalTrial", config_of("per_class", image=FIRST), "names TensorFlow 1.15"),
        ("from_keras:FromKerasTrial", config_of("acc", image=SECOND), "names TensorFlow 2.4"),
        ("heads:HeadTrial", config_of("own_recall"), "entrypoint: heads:HeadTrial"),
        ("recurrent:RecurrentTrial", config_of("error"), "the code uses tf.contrib"),
        ("regression:RegressionTrial", config_of("average_loss", image=SECOND), "names TensorFlow 2.4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_estimator_trial_of_that_time_trains_validates_and_resumes(
    entrypoint: str, config: Any, said: str, tmp_path: pathlib.Path
) -> None:
    found = assert_trains_validates_and_resumes("estimator", entrypoint, config, tmp_path)
    assert [said in line for line in found["log"] if line.startswith("treating the code as")] == [True]
