"""What a newcomer does with the wheel that tools/release made: an empty virtual environment, `det init`, `det up`, a
trained model. Only PyTorch is taken from the tests' own environment, as if it had been downloaded already."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request
import zipfile

import pytest
from cluster import PYTHON, REPOSITORY, wait_until
from ports import free_ports

WHEELS = sorted((REPOSITORY / "dist").glob("determined_cpp-*.whl"))
pytestmark = pytest.mark.skipif(not WHEELS, reason="needs dist/*.whl: tools/release wheel")


class Newcomer:
    """Somebody with an empty home, and an environment that only the wheel is installed in."""

    def __init__(self, home):
        self.home = home
        self.bin = home / "environment" / "bin"
        (self.port,) = free_ports(1)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
        self.environment["DET_MASTER"] = f"http://127.0.0.1:{self.port}"

    def install(self):
        subprocess.run(["/usr/bin/python3", "-m", "venv", self.bin.parent], check=True)
        pip = [self.bin / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]
        subprocess.run([*pip, WHEELS[-1]], check=True, env=self.environment)
        (packages,) = (self.bin.parent / "lib").glob("python3*/site-packages")
        ours = subprocess.run(
            [PYTHON, "-c", "import torch, pathlib; print(pathlib.Path(torch.__file__).parents[1])"],
            capture_output=True,
            text=True,
            check=True,
        )
        (packages / "pytorch.pth").write_text(ours.stdout)

    def det(self, *words, status=0):
        done = subprocess.run(
            [self.bin / "det", *map(str, words)],
            cwd=self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    it = Newcomer(tmp_path_factory.mktemp("newcomer"))
    it.install()
    return it


def test_the_wheel_trains_a_model_in_an_empty_environment(newcomer):
    began = time.monotonic()
    checks = {
        check["name"]: check
        for check in json.loads(newcomer.det("doctor", "--port", newcomer.port, "--json", status=1))
    }
    assert checks.pop("master")["advice"] == "start one with det up, or correct DET_MASTER"
    assert [check for check in checks.values() if check["verdict"] == "problem"] == []
    assert checks["Python"]["found"].endswith(f"({newcomer.bin}/python3)")

    assert "const.yaml" in newcomer.det("init", "spirals")
    log = newcomer.home / "up.log"
    with log.open("w") as output:
        up = subprocess.Popen(
            [newcomer.bin / "det", "up", "--port", str(newcomer.port)],
            env=newcomer.environment,
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(lambda: "is ready" in log.read_text() or up.poll() is not None, "det up is ready")
        said = newcomer.det("experiment", "create", "-f", "spirals/const.yaml", "spirals")
        assert "finished after batch 1000" in said
        newcomer.det("experiment", "wait", 1)
        pages = urllib.request.urlopen(f"{newcomer.environment['DET_MASTER']}/det/").read().decode()
        assert "<script" in pages and "not built" not in pages
        print(f"from nothing to a trained model: {time.monotonic() - began:.1f} s")
    finally:
        up.terminate()
        up.wait()


def test_the_wheel_is_for_every_python_from_3_9_on_and_says_what_it_bundles():
    name = WHEELS[-1].name
    assert "-cp39-abi3-manylinux_2_" in name
    assert WHEELS[-1].stat().st_size < 40e6
    with zipfile.ZipFile(WHEELS[-1]) as wheel:
        names = wheel.namelist()
        (libraries,) = (one for one in names if one.endswith("sboms/auditwheel.cdx.json"))
        bundled = {one["name"] for one in json.loads(wheel.read(libraries))["components"]}
        assert "determined/py.typed" in names
        assert not [one for one in names if "__pycache__" in one or one.endswith("ruff.toml")]
        info = libraries.partition("/")[0]
        for library in ("libssl3", "libsqlite3-0", "libcurl4"):
            assert library in bundled
            assert f"{info}/licenses/{library}.txt" in names
        pages = json.loads(wheel.read(f"{info}/sboms/pages.cdx.json"))
        assert "react" in {one["name"] for one in pages["components"]}


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13"])
def test_the_package_can_be_imported_by_other_pythons(version, newcomer):
    found = [path for path in other_pythons() if path.name == f"python{version}"]
    if not found:
        pytest.skip(f"there is no Python {version} on this machine")
    (packages,) = (newcomer.bin.parent / "lib").glob("python3*/site-packages")
    program = (
        "import determined, determined.core, determined.experimental.client, determined.exec.shell\n"
        "from determined import _runtime\n"
        "from determined.common.api import bindings\n"
        "action = _runtime.next_action(_runtime.LoopConfig(), _runtime.LoopState(), [250], True, False, False)\n"
        "user = bindings.v1User.from_json({'username': 'a', 'admin': True, 'active': True})\n"
        "print(action.kind, action.batches, user)\n"
    )
    environment = {**newcomer.environment, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([found[0], "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("train 100 v1User("), done.stderr


def other_pythons():
    homes = [*map(pathlib.Path, os.environ["PATH"].split(":")), *pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    return [path for home in homes for path in home.glob("python3.*") if path.resolve() != pathlib.Path(sys.executable)]
