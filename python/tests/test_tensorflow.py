"""The tests of trials on TensorFlow, run in the environment that the platform makes for such trials."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from determined.exec import _requirements

HERE = pathlib.Path(__file__).parent
FILES = sorted(path.name for path in (HERE / "on_tensorflow").glob("test_*.py"))


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """A process for each file, two at a time, in that environment: built at the first time and kept for all later ones.

    Each file needs a process of its own: Keras wants the behaviour of TensorFlow 2, the others switch it off.
    """
    layer = _requirements.Layer("TensorFlow trials", _requirements.TENSORFLOW, HERE)
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "2"}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        command = [str(home / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command.append(str(HERE / "on_tensorflow" / name))
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)

    wanted = [name for name in FILES if any(f"[{name}]" in item.nodeid for item in request.session.items)]
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run, name) for name in wanted}


@pytest.mark.parametrize("name", FILES)
def test_what_is_said_of_trials_on_tensorflow_holds(
    name: str, runs: dict[str, Future[subprocess.CompletedProcess[str]]]
) -> None:
    ended = runs[name].result()
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
