"""The examples run as they are."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from harness import RULES

from determined._definition import _entrypoint
from determined._run import _launch, _local_run
from determined.errors import InvalidConfigurationException
from determined.exec import _families

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
NAMES = sorted(
    folder.name
    for folder in EXAMPLES.iterdir()
    if (folder / "model_def.py").exists()
    and not (folder / "requirements.txt").exists()  # of libraries that are not installed here
    and not _families.needs_tensorflow(folder, _local_run.read_config(str(folder / "const.yaml")))
)
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the package dataset-fashion-mnist")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_an_example_trains_a_batch_and_comes_back_from_its_checkpoint(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = EXAMPLES / name
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    config: dict[str, Any] = _local_run.read_config(str(folder / "const.yaml"))
    _local_run.test_one_batch(None, config, rules=RULES, directory=_launch.enter(str(folder)))
    for module in ("model_def", "data"):
        _entrypoint.forget(module)


def test_the_tutorial_submits_four_small_files() -> None:
    folder = EXAMPLES / "mnist_pytorch"
    ignored = {".detignore", *(folder / ".detignore").read_text().split()}
    files = [path for path in folder.iterdir() if path.is_file() and path.name not in ignored]
    assert len(files) == 4
    assert sum(path.stat().st_size for path in files) < 4096


def test_numbers_in_yaml_are_those_of_yaml_1_2(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.yaml").write_text("a: 1e-4\nb: 1.5\nc: 3\nd: text\ne: -1E+3\nf: [.5e-2, 1e3]\n")
    config = _local_run.read_config(str(tmp_path / "config.yaml"))
    assert config == {"a": 0.0001, "b": 1.5, "c": 3, "d": "text", "e": -1000.0, "f": [0.005, 1000.0]}
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"contains a list"):
        _local_run.read_config(str(tmp_path / "config.json"))
    (tmp_path / "broken.yaml").write_text("a: [")
    with pytest.raises(ValueError, match=r"broken.yaml: "):
        _local_run.read_config(str(tmp_path / "broken.yaml"))


def test_the_local_test_of_a_script_says_so_before_anything_else() -> None:
    with pytest.raises(InvalidConfigurationException, match=r"python3 train.py.; it must be module:Name"):
        _local_run.test_one_batch(None, {"entrypoint": "python3 train.py"}, rules=RULES)
