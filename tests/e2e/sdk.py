"""The Python package against a cluster: programs of users run in processes of their own."""

import os
import subprocess

from cluster import PATIENCE, PYTHON, REPOSITORY


def run_python(cluster, program, directory, environment=None, code=0):
    """What a program prints that a user runs with the cluster's address in DET_MASTER."""
    kept = {name: value for name, value in cluster.environment.items() if name != "DET_MASTER"}
    variables = {"DET_MASTER": cluster.url, "PYTHONPATH": str(REPOSITORY / "python"), **(environment or {})}
    done = subprocess.run(
        [PYTHON, "-c", program],
        capture_output=True,
        text=True,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        env={**{name: value for name, value in os.environ.items() if name == "PATH"}, **kept, **variables},
        timeout=PATIENCE,
    )
    if code is not None and done.returncode != code:
        raise AssertionError(f"ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stdout + done.stderr
