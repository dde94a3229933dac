"""What a model definition's requirements.txt brings, and what happens when it cannot be had."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from determined.exec import _requirements

PYTHON = pathlib.Path(__file__).parents[2]
PROGRAM = """
import os, sys
{before}
from determined.exec import _requirements
_requirements.enter(os.getcwd(), ["program.py"])
import tiny
print("tiny", tiny.VERSION, "below", __import__("numpy").__name__, "PATH", os.environ["PATH"].split(":")[0])
"""


def wheel(folder: pathlib.Path, version: str) -> str:
    """A package made by hand, so that nothing has to be fetched."""
    name = f"tiny-{version}-py3-none-any.whl"
    files = {
        "tiny.py": f"VERSION = {version!r}\n",
        f"tiny-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n",
        f"tiny-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text)}\n"
    files[f"tiny-{version}.dist-info/RECORD"] = record + f"tiny-{version}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name


@pytest.fixture
def definition(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "definition"
    folder.mkdir()
    name = wheel(folder, "1.0")
    (folder / "requirements.txt").write_text(f"# what we need\n./{name}  # made by hand\nnumpy\n")
    (folder / "program.py").write_text(PROGRAM.format(before=""))
    return folder


def run(folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DET_")},
        "DET_ENVIRONMENTS": str(folder.parent / "environments"),
        "PYTHONPATH": str(PYTHON),
    }
    return subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def test_an_environment_is_built_once_and_then_found(definition: pathlib.Path) -> None:
    first, second = run(definition), run(definition)
    assert "building the environment" in first.stdout, first.stderr
    assert "tiny 1.0 below numpy" in first.stdout, first.stderr
    assert second.stdout.startswith("tiny 1.0 below numpy"), second.stdout + second.stderr
    assert len(list((definition.parent / "environments").glob("*/complete"))) == 1
    (environment,) = (definition.parent / "environments").glob("*/bin")
    assert second.stdout.split()[-1] == str(environment)
    assert not list(environment.parent.rglob("numpy"))  # The platform's own is good enough.


def test_processes_that_start_at_once_share_one_build(definition: pathlib.Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(run, [definition] * 3))
    assert all("tiny 1.0" in one.stdout for one in ended), [one.stderr for one in ended]
    assert sum("building the environment" in one.stdout for one in ended) == 1


def test_other_requirements_get_another_environment(definition: pathlib.Path) -> None:
    before = _requirements.key(definition)
    (definition / "requirements.txt").write_text(f"./{wheel(definition, '2.0')}\n")
    assert _requirements.key(definition) != before
    assert "tiny 2.0" in run(definition).stdout


def test_a_comment_does_not_change_the_environment(tmp_path: pathlib.Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n")
    before = _requirements.key(tmp_path)
    (tmp_path / "requirements.txt").write_text("# numbers\n\nnumpy  # any version\n")
    assert _requirements.key(tmp_path) == before


def test_a_package_that_was_imported_already_is_replaced_by_a_fresh_start(definition: pathlib.Path) -> None:
    (definition / "elsewhere").mkdir()
    (definition / "elsewhere" / "tiny.py").write_text("VERSION = 'old'\n")
    before = 'sys.path.append(os.path.abspath("elsewhere")); import tiny'
    (definition / "program.py").write_text(PROGRAM.format(before=before))
    ended = run(definition)
    assert "tiny 1.0" in ended.stdout, ended.stderr
    assert "afresh" not in ended.stdout  # it concerns nobody who reads the log


def test_what_a_killed_builder_left_behind_is_built_again(definition: pathlib.Path) -> None:
    run(definition)
    (complete,) = (definition.parent / "environments").glob("*/complete")
    complete.unlink()
    assert "tiny 1.0" in run(definition).stdout
    assert complete.exists()


def test_what_cannot_be_installed_is_named(definition: pathlib.Path) -> None:
    (definition / "requirements.txt").write_text("./nowhere-1.0-py3-none-any.whl\n")
    ended = run(definition)
    assert ended.returncode != 0
    assert "requirements.txt cannot be installed:" in ended.stderr
    assert "nowhere-1.0-py3-none-any.whl" in ended.stderr


def test_without_requirements_nothing_happens(tmp_path: pathlib.Path) -> None:
    path = list(sys.path)
    _requirements.enter(str(tmp_path), [])
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    _requirements.enter(str(tmp_path), [])
    assert sys.path == path


def built(folder: pathlib.Path) -> set[str]:
    return {path.parent.name for path in (folder.parent / "environments").glob("*/complete")}


def test_unusable_environments_are_removed_when_the_next_is_built(definition: pathlib.Path) -> None:
    run(definition)
    [first] = built(definition)
    of_whom = definition.parent / "environments" / first / "platform"
    prefix, state = of_whom.read_text().split("\n")
    for changed, kept in [
        (f"{prefix}\n{state}", True),
        ("/of/somebody/else\n" + state, False),
        (f"{prefix}\nbefore the last update", False),
        (f"{definition}\nof a platform beside this one", True),
    ]:
        of_whom.parent.mkdir(exist_ok=True)
        (of_whom.parent / "complete").touch()
        of_whom.write_text(changed)
        _requirements._remove_unused(definition.parent / "environments")
        assert (built(definition) == {first}) == kept, changed


def test_an_environment_in_use_is_not_removed(definition: pathlib.Path) -> None:
    (definition / "program.py").write_text(PROGRAM.format(before="") + "print(flush=True)\ninput()\n")
    environment = os.environ | {"DET_ENVIRONMENTS": str(definition.parent / "environments"), "PYTHONPATH": str(PYTHON)}
    with subprocess.Popen(
        [sys.executable, "program.py"], cwd=definition, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        while b"tiny 1.0" not in process.stdout.readline():
            pass
        [name] = built(definition)
        root = definition.parent / "environments"
        (root / name / "platform").write_text("/of/somebody/else\nwho is gone")
        _requirements._remove_unused(root)
        assert built(definition) == {name}
        process.communicate(b"\n")
    _requirements._remove_unused(root)
    assert built(definition) == set()
