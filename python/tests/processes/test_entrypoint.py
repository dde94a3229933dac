"""Finding the trial class that a configuration names."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

from determined._definition import _entrypoint
from determined.common.check import CheckFailedError

TRIAL = """
from determined.pytorch import PyTorchTrial
class One(PyTorchTrial):
    where = __name__
    def build_training_data_loader(self): ...
    def build_validation_data_loader(self): ...
    def train_batch(self, batch, epoch_idx, batch_idx): ...
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    root = tmp_path / "my-model"
    root.mkdir()
    (root / "model_def.py").write_text(TRIAL + "class holder:\n    Inner = One\nnumber = 3\n")
    (root / "pkg").mkdir()
    (root / "pkg" / "__init__.py").write_text("")
    (root / "pkg" / "sub.py").write_text(TRIAL)
    (root / "broken.py").write_text("import no_such_module\n")
    (root / "__init__.py").write_text("from .model_def import One\n")
    monkeypatch.chdir(root)
    monkeypatch.syspath_prepend(str(root))
    yield root
    for name in ("model_def", "pkg", "broken", "my_model"):
        _entrypoint.forget(name)


@pytest.mark.parametrize("entrypoint", ["model_def:One", "model_def:holder.Inner", "pkg.sub:One", ":One", None])
def test_every_form_finds_its_class(entrypoint: str | None, folder: pathlib.Path) -> None:
    found = _entrypoint.load_trial_class(entrypoint, str(folder))
    assert found.__name__ == "One"


@pytest.mark.parametrize(
    ("entrypoint", "text"),
    [
        ("model_def:Two", r"model_def has no Two.*trial classes in model_def: One"),
        ("model_def:one", r"trial classes in model_def: One"),
        ("modl_def:One", r"no module modl_def.*it has: broken, model_def"),
        ("model_def:number", r"which is a int, expected a subclass of det.Trial"),
        ("pkg.other:One", r"no module pkg.other"),
        ("pkg:One", r"pkg has no One.*pkg/sub.py has that class; say entrypoint: pkg.sub:One"),
    ],
)
def test_a_wrong_name_is_told_the_right_ones(entrypoint: str, text: str, folder: pathlib.Path) -> None:
    with pytest.raises(CheckFailedError, match=text):
        _entrypoint.load_trial_class(entrypoint, str(folder))


def test_an_import_that_fails_inside_the_module_is_shown_as_it_is(folder: pathlib.Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _entrypoint.load_trial_class("broken:One", str(folder))


def test_without_a_name_there_must_be_one_trial(folder: pathlib.Path) -> None:
    (folder / "__init__.py").write_text("from .model_def import One\nclass Two(One): ...\n")
    with pytest.raises(CheckFailedError, match="2 trial classes"):
        _entrypoint.load_trial_class(None, str(folder))
    (folder / "__init__.py").unlink()
    with pytest.raises(CheckFailedError, match=r"an __init__.py in the model definition"):
        _entrypoint.load_trial_class(":One", str(folder))


def test_another_definition_may_bring_a_module_of_the_same_name(
    folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _entrypoint.load_trial_class("model_def:One", str(folder))
    other = tmp_path / "other"
    other.mkdir()
    (other / "model_def.py").write_text(TRIAL.replace("One", "Other"))
    with _entrypoint.importable(str(other)):
        assert _entrypoint.load_trial_class("model_def:Other", str(other)).__name__ == "Other"
    assert hasattr(sys.modules["model_def"], "One")


def test_code_that_names_what_numpy_removed_since_runs_unmodified(folder: pathlib.Path) -> None:
    lines = "import numpy as np\nEYE = np.eye(2, dtype=np.int)\nMASK = np.zeros(2, dtype=np.float) > np.float(1)\n"
    (folder / "old.py").write_text(lines + TRIAL)
    _entrypoint.load_trial_class("old:One", str(folder))
    assert sys.modules["old"].EYE.tolist() == [[1, 0], [0, 1]]
    assert np.bool is np.bool_ if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else np.bool is bool


def test_importing_from_a_directory_leaves_nothing_in_it(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = sorted(folder.iterdir())
    with _entrypoint.importable(str(folder)):
        _entrypoint.load_trial_class("model_def:One", str(folder))
    assert sorted(folder.iterdir()) == before
    assert sys.dont_write_bytecode is False


HOROVOD = "python3 -m determined.launch.horovod"


@pytest.mark.parametrize("layer", [HOROVOD, f"{HOROVOD} --autohorovod", f"{HOROVOD} --fusion-threshold-mb 1 --"])
def test_a_class_behind_the_launch_layer_of_horovod_is_a_class(layer: str, folder: pathlib.Path) -> None:
    for entrypoint in (f"{layer} --trial model_def:One", [*layer.split(), "--trial", "model_def:One"]):
        assert _entrypoint.is_trial_entrypoint(entrypoint)
        assert _entrypoint.load_trial_class(entrypoint, str(folder)).__name__ == "One"


@pytest.mark.parametrize(
    ("entrypoint", "names_a_class"),
    [
        ("a.b:C.D", True),
        (":C", True),
        (None, True),
        ("python train.py", False),
        (["python", "x"], False),
        ([], False),
        ("", False),
        (f"{HOROVOD} train.py", False),
        (f"{HOROVOD} --trial", False),
        (f"echo {HOROVOD} --trial a:B", False),
    ],
)
def test_a_command_is_no_class(entrypoint: object, names_a_class: bool) -> None:
    assert _entrypoint.is_trial_entrypoint(entrypoint) is names_a_class
