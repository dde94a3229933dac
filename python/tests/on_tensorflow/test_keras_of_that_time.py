"""Keras trials as they were written for TensorFlow 1.13 to 2.4."""

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
        ("decayed:CnnTrial", config_of("val_acc", steps=True), "searcher.max_steps"),
        ("schedules:FeatureColumnTrial", config_of("val_auc"), "entrypoint: schedules:FeatureColumnTrial"),
        ("augmented:AugmentedTrial", config_of("val_error_rate", image=FIRST), "names TensorFlow 1.15"),
        ("mixed:MixedPrecisionTrial", config_of("val_loss", image=SECOND), "names TensorFlow 2.4"),
        ("own_step:OwnStepTrial", config_of("val_accuracy"), "entrypoint: own_step:OwnStepTrial"),
        ("recurrent:RecurrentTrial", config_of("val_loss", steps=True), "the code uses tf.ConfigProto"),
        ("script.py 3", config_of("val_accuracy"), "a script of the Native API"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_keras_trial_of_that_time_trains_validates_and_resumes(
    entrypoint: str, config: Any, said: str, tmp_path: pathlib.Path
) -> None:
    found = assert_trains_validates_and_resumes("keras", entrypoint, config, tmp_path)
    assert [said in line for line in found["log"] if line.startswith("treating the code as")] == [True]
