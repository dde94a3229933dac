"""Runs trials on TensorFlow in this process, straight and with interruptions."""

from __future__ import annotations

import hashlib
import logging
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from harness import Run

from determined._definition import _native
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._run import _launch
from determined._trial import Trial

SEED = 7
CONFIG: dict[str, Any] = {
    "searcher": {"metric": "loss", "smaller_is_better": True},
    "hyperparameters": {"global_batch_size": 4},
    "scheduling_unit": 5,
    "min_validation_period": {"batches": 10},
}


def run(trial_class: type[Trial], storage: pathlib.Path, length: int = 20, **options: Any) -> Run:
    """A process of a trial, from its start to its end; ``config`` lies over ``CONFIG``."""
    it = begun(trial_class, storage, length, **options)
    it.finish()
    return it


def begun(trial_class: type[Trial], storage: pathlib.Path, length: int = 20, **options: Any) -> Run:
    config: Mapping[str, Any] = {**CONFIG, **options.pop("config", {})}
    return Run(trial_class, storage, lengths=[length], config=config, **options).start()


def interrupted(
    trial_class: type[Trial], storage: pathlib.Path, after: list[int], length: int = 20, **options: Any
) -> Run:
    """The last process of a trial that was asked to give way after each of these batches."""
    checkpoint = None
    for batches in after:
        part = run(trial_class, storage, length, checkpoint=checkpoint, preempt_after=batches, **options)
        part.controller.close()
        checkpoint = part.newest_checkpoint()
        assert checkpoint is not None
    return run(trial_class, storage, length, checkpoint=checkpoint, **options)


def digest(values: Mapping[str, Any]) -> str:
    """A hash over everything that was trained, to the last bit."""
    found = hashlib.sha256()
    for name in sorted(values):
        found.update(name.encode() + np.asarray(values[name]).tobytes())
    return found.hexdigest()


def assert_same_end(straight: Run, other: Run, values: Any) -> None:
    """Both end with the same weights, and reported the same numbers for the batches that both did."""
    assert digest(values(straight)) == digest(values(other))
    expected, found = straight.numbers(), other.numbers()
    assert found and {key: expected[key] for key in found} == found
    logging.getLogger("determined").debug("%d reports are equal", len(found))


def on_cluster(script: str, folder: pathlib.Path, metric: str) -> Any:
    """Context and controller of a script of the Native API, as the cluster runs it."""
    (folder / "script.py").write_text(script)
    env = EnvContext(
        experiment_config=ExperimentConfig({"searcher": {"metric": metric}}),
        hparams={"global_batch_size": 4},
        trial_seed=3,
    )
    trial_class = _native.load(["script.py", "--size", "3"], str(folder), env)
    context, controller = _launch.build(trial_class, env, source=None)
    controller.start(None, None, weights_only=False)
    return context, controller
