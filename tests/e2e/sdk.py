"""The Python package against a cluster: programs of users run in processes of their own."""

import os
import subprocess

from cluster import PATIENCE, PYTHON, REPOSITORY


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
