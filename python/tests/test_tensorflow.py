"""The tests of trials on TensorFlow, run in the environment that the platform makes for such trials."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from determined.exec import _requirements

HERE = pathlib.Path(__file__).parent
FILES = sorted(path.name for path in (HERE / "on_tensorflow").glob("test_*.py"))


@pytest.fixture(scope="module")
def interpreter() -> pathlib.Path:
    """Python in that environment, which is built at the first time and kept for all later ones."""
    layer = _requirements.Layer("TensorFlow trials", _requirements.TENSORFLOW, HERE)
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    return home / "bin" / "python"


@pytest.mark.parametrize("name", FILES)
def test_what_is_said_of_trials_on_tensorflow_holds(name: str, interpreter: pathlib.Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [
        str(interpreter),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-x",
        str(HERE / "on_tensorflow" / name),
    ]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
    print(ended.stdout.splitlines()[-1], file=sys.stderr)
