"""What ``optimizations.aggregation_frequency`` promises, for every family of trials on TensorFlow."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from runs import assert_same_end, interrupted, run

from determined._trial import Trial

FREQUENCY = 3


def options(config: Mapping[str, Any], frequency: int, batch: int = 4, *, average: bool = True) -> dict[str, Any]:
    optimizations = {"aggregation_frequency": frequency, "average_aggregated_gradients": average}
    return {**config, "optimizations": optimizations, "hyperparameters": {"global_batch_size": batch}}


def assert_interruptions_change_nothing(
    trial_class: type[Trial], place: pathlib.Path, config: Mapping[str, Any], values: Callable[[Any], Any]
) -> None:
    """The second process ends between two steps, with gradients that wait."""
    config = {**options(config, FREQUENCY), "scheduling_unit": 1}
    straight = run(trial_class, place, 12, config=config)
    assert_same_end(straight, interrupted(trial_class, place, [3, 7], 12, config=config), values)


def assert_small_batches_train_as_large_ones(
    trial_class: type[Trial], place: pathlib.Path, config: Mapping[str, Any], values: Callable[[Any], Any]
) -> None:
    """Of a trial without chance, whose loss is a mean over the batch."""

    def trained(length: int, frequency: int, batch: int, *, average: bool = True) -> dict[str, Any]:
        it = run(trial_class, place, length, config=options(config, frequency, batch, average=average))
        return {name: value for name, value in values(it).items() if np.asarray(value).dtype == np.float32}

    large, small = trained(4, 1, 12), trained(12, FREQUENCY, 4)
    beyond, before = trained(14, FREQUENCY, 4), trained(11, FREQUENCY, 4)
    total = trained(12, FREQUENCY, 4, average=False)
    assert large
    for name, value in large.items():
        np.testing.assert_allclose(small[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
        np.testing.assert_array_equal(beyond[name], small[name], err_msg=name)
    assert any(not np.array_equal(before[name], small[name]) for name in large)
    assert any(not np.allclose(total[name], small[name], rtol=1e-2) for name in large)
