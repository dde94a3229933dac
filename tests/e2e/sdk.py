"""The Python package against a cluster: programs of users run in processes of their own."""

import os
import subprocess

from cluster import PATIENCE, PYTHON, REPOSITORY

# The beginning of a program that submits a short experiment.
SHORT = """
from determined.experimental import Determined, client
import json
config = {
    "name": "short", "entrypoint": "model_def:NoisyTrial", "scheduling_unit": 10,
    "hyperparameters": {"global_batch_size": 8, "seconds_per_batch": 0.0},
    "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": 60}},
    "min_validation_period": {"batches": 20}, "min_checkpoint_period": {"batches": 20},
    "checkpoint_storage": {"save_trial_best": 5, "save_trial_latest": 5},
    "reproducibility": {"experiment_seed": 3},
}
"""


def popen_python(cluster, program, directory, environment=None):
    """Starts a program of a user, with the cluster's address in DET_MASTER and its output in a pipe."""
    variables = {"PATH": os.environ["PATH"], **cluster.environment, "DET_MASTER": cluster.url}
    return subprocess.Popen(
        [PYTHON, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=directory,
        env={**variables, "PYTHONPATH": str(REPOSITORY / "python"), **(environment or {})},
    )


def run_python(cluster, program, directory, environment=None):
    """What a program of a user prints; it must end with status 0."""
    process = popen_python(cluster, program, directory, environment)
    text, _ = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        raise AssertionError(f"ended with {process.returncode}:\n{text}")
    return text
