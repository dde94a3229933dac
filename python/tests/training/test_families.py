"""Which model definitions get TensorFlow's environment: told from their source alone."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from determined.exec import _families, _requirements

PYTHON = pathlib.Path(__file__).parents[2]


def needs(folder: pathlib.Path, entrypoint: str | None = "model_def:Trial", **config: object) -> bool:
    return _families.needs_tensorflow(folder, {"entrypoint": entrypoint, **config})


@pytest.mark.parametrize(
    "source",
    [
        "from determined.estimator import EstimatorTrial",
        "from determined import keras",
        "import determined.tensorpack as dtp",
        "import determined as det\n\nclass A(det.keras.TFKerasTrial): pass",
        "def late():\n    from determined.experimental import estimator",
        "import determined\ndetermined.experimental.keras.init()",
    ],
)
def test_a_definition_that_names_a_family_on_tensorflow_needs_it(source: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text(source)
    assert needs(tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        "from determined.pytorch import PyTorchTrial",
        "import tensorflow as tf",
        "from determined.experimental import client, create",
        "import determined as det\ndet.estimators = 1",
        "this is no Python",
    ],
)
def test_any_other_definition_does_not_need_it(source: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text(source)
    assert not needs(tmp_path)


def test_modules_of_the_definition_are_followed_and_others_beside_it_are_not(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text("from package.inner import helper")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "inner.py").write_text("from . import other")
    (tmp_path / "package" / "other.py").write_text("from determined.keras import TFKerasTrial\nimport model_def")
    (tmp_path / "torch_def.py").write_text("import determined.pytorch")
    assert needs(tmp_path, "package.inner:Trial") and needs(tmp_path)
    assert not needs(tmp_path, "torch_def:Trial")


def test_a_package_and_a_native_script_are_read_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "__init__.py").write_text("from determined.estimator import EstimatorTrial")
    (tmp_path / "native.py").write_text("from determined.experimental import estimator")
    assert needs(tmp_path, None)
    assert needs(tmp_path, None, internal={"native": {"command": ["native.py", "--x"]}})
    assert not needs(tmp_path, "python native.py")
    assert not needs(tmp_path, None, internal={"native": {"command": ["missing.py"]}})


def test_the_layers_of_a_trial_are_tensorflows_and_its_own(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_requirements, "_is_there", lambda line: False)
    (tmp_path / "model_def.py").write_text("import determined.keras")
    config = {"entrypoint": "model_def:Trial"}

    def titles() -> list[str]:
        return [layer.title for layer in _requirements.wanted(tmp_path, config)]

    assert titles() == ["TensorFlow trials"]
    (tmp_path / "requirements.txt").write_text("scikit-learn\n")
    assert titles() == ["TensorFlow trials", "requirements.txt"]
    (tmp_path / "requirements.txt").write_text("scikit-learn\ntensorflow==2.14.1\n")
    (only,) = _requirements.wanted(tmp_path, config)
    assert only.file and only.lines == ("tensorpack==0.11", "lmdb==3.0.0")
    monkeypatch.setattr(_requirements, "_is_there", lambda line: True)
    (tmp_path / "requirements.txt").unlink()
    assert titles() == []


def test_importing_the_families_imports_no_tensorflow() -> None:
    program = (
        "import sys, determined, determined.estimator, determined.keras, determined.tensorpack\n"
        "import determined.experimental.estimator, determined.experimental.keras\n"
        "assert determined.experimental.estimator.init and 'RunHook' in determined.estimator.__all__\n"
        "assert not {'tensorflow', 'tensorpack', 'torch', 'numpy'} & set(sys.modules), sys.modules.keys()\n"
        "try:\n    determined.keras.TFKerasTrial\nexcept ImportError as error:\n    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=PYTHON, capture_output=True, text=True, check=True, timeout=60
    )
    assert "needs tensorflow; it is not installed" in ended.stdout
    assert "determined[tensorflow]" in ended.stdout
