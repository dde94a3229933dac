"""experimental.create: from the script that defines the trial."""

from __future__ import annotations

import pathlib
import sys

import pytest
from trials import EverythingTrial

from determined._definition import _native
from determined.errors import InvalidExperimentException
from determined.experimental import Mode, create

SCRIPT = """
import sys
from determined.experimental import create
from trials import EverythingTrial

class Mine(EverythingTrial):
    arguments = sys.argv[1:]

if __name__ == "__main__":
    create(Mine, {"hyperparameters": {}}, context_dir=".")
    raise SystemExit("never reached")
"""


def test_the_script_is_run_up_to_create(tmp_path: pathlib.Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    before = list(sys.argv)
    found = _native.load(["script.py", "--size", "3"], str(tmp_path))
    assert (found.__name__, found.__module__, found.arguments) == ("Mine", "script", ["--size", "3"])  # type: ignore[attr-defined]
    assert sys.argv == before
    assert not _native.recording()


def test_a_script_without_a_call_of_create_is_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "script.py").write_text("pass")
    with pytest.raises(InvalidExperimentException, match=r"script\.py ended without calling"):
        _native.load(["script.py"], str(tmp_path))
    with pytest.raises(InvalidExperimentException, match=r"other\.py is not in the model definition"):
        _native.load(["other.py"], str(tmp_path))


def test_invalid_arguments_of_create_are_explained(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotImplementedError, match="needs test=True"):
        create(EverythingTrial, local=True)
    with pytest.raises(InvalidExperimentException, match="context_dir is empty"):
        create(EverythingTrial)
    monkeypatch.setattr(sys, "argv", [""])
    with pytest.raises(InvalidExperimentException, match="pass command="):
        create(EverythingTrial, context_dir=str(tmp_path))
    monkeypatch.setattr(sys, "argv", [__file__])
    with pytest.raises(InvalidExperimentException, match="is not below context_dir"):
        create(EverythingTrial, context_dir=str(tmp_path))


@pytest.mark.parametrize("options", [{"local": True, "test": True}, {"mode": Mode.LOCAL}])
def test_the_local_test_trains_one_batch(options: dict[str, bool], caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)
    caplog.set_level("INFO")
    config = {"hyperparameters": {"global_batch_size": 4}, "searcher": {"name": "single", "metric": "val_loss"}}
    assert create(EverythingTrial, config, **options) is None  # type: ignore[arg-type]
    assert "the test of EverythingTrial passed" in caplog.text
