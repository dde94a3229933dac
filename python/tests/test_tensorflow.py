"""The tests of trials on TensorFlow, run in the environment that the platform makes for such trials."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

from determined.exec import _requirements

HERE = pathlib.Path(__file__).parent
FILES = sorted(path.name for path in (HERE / "on_tensorflow").glob("test_*.py"))


@pytest.fixture(scope="session")
def tensorflow() -> pathlib.Path:
    """Python in that environment: built at the first time and kept for all later ones."""
    layer = _requirements.Layer("TensorFlow trials", _requirements.TENSORFLOW, HERE)
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    return home / "bin" / "python"


@pytest.mark.parametrize("name", FILES)
def test_what_is_said_of_trials_on_tensorflow_holds(name: str, tensorflow: pathlib.Path) -> None:
    """A process for each file: Keras wants the behaviour of TensorFlow 2, the others switch it off."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    few = {"TF_NUM_INTRAOP_THREADS": "1"}  # models this small gain nothing by more
    environment = {**kept, **few, "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [str(tensorflow), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations", "5"]
    command.append(str(HERE / "on_tensorflow" / name))
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
