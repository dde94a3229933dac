"""Where the packages go that a startup hook installs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from test_requirements import PYTHON, wheel

from determined.exec import _requirements

HOOK = """
set -e
eval "$({python} -m determined.exec.hook {home})"
pip install --no-index --quiet ./{wheel}
pip install --no-index --quiet numpy
exec {python} program.py
"""
PROGRAM = """
import os, sys
from determined.exec import _requirements
before = _requirements._platform()
_requirements.enter(os.getcwd(), ["program.py"])
import numpy, tiny
print(tiny.VERSION, tiny.__file__.startswith(os.environ["DET_HOOK_PACKAGES"]), numpy.__file__)
print("key", before[1])
"""


@pytest.fixture
def definition(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "definition"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    return folder


def run(folder: pathlib.Path, script: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
    environment = {**kept, "PYTHONPATH": str(PYTHON), "DET_TASK_TYPE": "TRIAL"}
    environment["DET_ENVIRONMENTS"] = str(folder.parent / "environments")
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_a_hook_installs_is_there_for_its_task_and_on_top_of_what_there_is(definition: pathlib.Path) -> None:
    import numpy

    home = definition.parent / "packages"
    text = HOOK.format(python=sys.executable, home=home, wheel=wheel(definition, "3.0"))
    lines = run(definition, text).splitlines()
    assert lines[0] == f"3.0 True {numpy.__file__}", "what is there already is not installed again"
    assert lines[1] == f"key {_requirements._platform()[1]}", "environments do not depend on hooks"
    with pytest.raises(ImportError):
        __import__("tiny")


def test_a_hook_replaces_what_the_process_has_imported(definition: pathlib.Path) -> None:
    (definition / "tiny.py").write_text("VERSION = 'old'\n")
    (definition / "old.py").write_text("import tiny\nprint('had', tiny.VERSION)\n")
    (definition / "program.py").write_text(
        PROGRAM.replace(
            "import os, sys",
            "import os, sys\nif 'DET_ENVIRONMENT_ENTERED' not in os.environ: import old\n"
            "os.path.exists('tiny.py') and os.remove('tiny.py')",
        )
    )
    text = HOOK.format(python=sys.executable, home=definition.parent / "packages", wheel=wheel(definition, "4.0"))
    lines = run(definition, text).splitlines()
    assert lines[0] == "had old"
    assert lines[1].startswith("4.0 True")


def test_a_hook_installs_on_top_of_the_requirements(definition: pathlib.Path) -> None:
    (definition / "requirements.txt").write_text(f"./{wheel(definition, '1.0')}\n")
    text = HOOK.format(python=sys.executable, home=definition.parent / "packages", wheel=wheel(definition, "2.0"))
    assert "2.0 True" in run(definition, text)
    (layer,) = (definition.parent / "environments").glob("*/lib/python3*/site-packages/tiny.py")
    assert "1.0" in layer.read_text(), "what others use is not changed"
