"""Submitting a trial class from the script or notebook that defines it."""

from __future__ import annotations

import enum
import logging
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from determined._definition import _native
from determined._trial import Trial
from determined.errors import InvalidExperimentException
from determined.experimental._debug import test_one_batch
from determined.experimental._determined import Determined
from determined.experimental._experiment import Experiment

logger = logging.getLogger("determined")

DEFAULTS: dict[str, Any] = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 100}},
    "resources": {"slots_per_trial": 1},
}


class Mode(enum.Enum):
    """Where ``create`` runs, in the notation of scripts for 0.12.4."""

    CLUSTER = "cluster"
    LOCAL = "local"
    SUBMIT = "cluster"
    TEST = "local"


def create(
    trial_def: type[Trial],
    config: Mapping[str, Any] | None = None,
    local: bool = False,
    test: bool = False,
    context_dir: str = "",
    command: Sequence[str] | None = None,
    master_url: str | None = None,
    *,
    mode: Mode | None = None,
) -> Experiment | None:
    """Trains ``trial_def`` on the cluster, from the script that defines it.

    The files of ``context_dir`` and the configuration are submitted, and the trial's log is shown until the trial ends.
    The cluster runs the script again with the same arguments, up to this call. ``config`` overrides the defaults: the
    single searcher, 100 batches, one slot. ``command`` is the command to run, by default the script's path below
    ``context_dir`` and its arguments; in a notebook it is required.

    ``local=True, test=True`` trains one batch in this process, without a master. ``test=True`` alone does the same on
    the cluster, as an archived experiment.

    Raises:
        InvalidExperimentException: ``context_dir`` is empty, or the script is not below it.
        NotImplementedError: ``local=True`` without ``test=True``.
    """
    if mode is not None:
        local = mode is Mode.LOCAL
        test = test or local
    if _native.recording():
        _native.record(trial_def)
    if local and not test:
        raise NotImplementedError("local=True needs test=True: only a test can run without a cluster")
    if local:
        test_one_batch(trial_def, {**DEFAULTS, **(config or {})})
        return None
    return submit(config, test=test, context_dir=context_dir, command=command, master_url=master_url)


def submit(
    config: Mapping[str, Any] | None,
    *,
    test: bool,
    context_dir: str,
    command: Sequence[str] | None,
    master_url: str | None,
) -> Experiment:
    """Submits the running script, shows the log of its trial, and returns when the trial has ended."""
    if not context_dir:
        raise InvalidExperimentException("context_dir is empty; it must name the directory of the code to submit")
    words = list(command) if command is not None else _own_command(context_dir)
    merged = {**DEFAULTS, **(config or {}), "internal": {"native": {"command": words}}}
    if test:
        merged = _shortened(merged)
    experiment = Determined(master_url).create_experiment(merged, context_dir)
    logger.info("created experiment %d", experiment.id)
    for line in experiment.await_first_trial().logs(follow=True):
        print(line, end="" if line.endswith("\n") else "\n")
    experiment.wait(interval=0.5)
    if test:
        experiment.archive()
    return experiment


def _own_command(context_dir: str) -> list[str]:
    script = sys.argv[0] if sys.argv else ""
    if not script or not os.path.isfile(script):
        raise InvalidExperimentException("there is no script to run on the cluster; pass command=['script.py', …]")
    try:
        relative = pathlib.Path(script).resolve().relative_to(pathlib.Path(context_dir).resolve())
    except ValueError:
        raise InvalidExperimentException(f"the script {script} is not below context_dir {context_dir!r}") from None
    return [relative.as_posix(), *sys.argv[1:]]


def _shortened(config: dict[str, Any]) -> dict[str, Any]:
    searcher = {
        name: value for name, value in (config.get("searcher") or {}).items() if name in ("metric", "smaller_is_better")
    }
    keep = {"save_experiment_best": 0, "save_trial_best": 0, "save_trial_latest": 0}
    return {
        **{name: value for name, value in config.items() if name != "batches_per_step"},
        "description": f"[test-mode] {config.get('description', '')}".strip(),
        "scheduling_unit": 1,
        "min_validation_period": {"batches": 1},
        "max_restarts": 0,
        "checkpoint_storage": {**(config.get("checkpoint_storage") or {}), **keep},
        "searcher": {"name": "single", **searcher, "max_length": {"batches": 1}},
    }
