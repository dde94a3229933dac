"""What a newcomer does with the wheel that tools/release made: an empty virtual environment, `det init`, `det up`, a
trained model."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from cluster import REPOSITORY
from kept_environment import install
from newcomer import WHEELS, Newcomer, needs_wheel

pytestmark = needs_wheel


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    it = Newcomer(tmp_path_factory.mktemp("newcomer"))
    it.said = it.follow("installing.md", until="## 2.", then="curl --silent $DET_MASTER/det/ > pages.html")
    return it


def test_the_commands_of_the_page_train_a_model_in_an_empty_environment(newcomer):
    assert "This machine can train" in newcomer.said
    assert f"({newcomer.bin}/python3)" in newcomer.said
    assert "finished after batch 1000" in newcomer.said
    pages = (newcomer.home / "pages.html").read_text()
    assert "<script" in pages
    assert "not built" not in pages
    print(newcomer.seconds())  # pytest -rP shows it


def test_the_tutorial_trains_on_its_data_in_that_environment(newcomer):
    shutil.copytree(REPOSITORY / "examples/mnist_pytorch", newcomer.home / "tutorial")
    said = newcomer.shell(
        f"export PATH=$PWD/environment/bin:$PATH DET_MASTER={newcomer.url}\n"
        "trap 'kill $(jobs -p)' EXIT\n"
        f"det up --dir tutorial-state --port {newcomer.port} > tutorial.log 2>&1 &\n"
        "until grep -q 'is ready' tutorial.log; do sleep 0.1; kill -0 $!; done\n"
        "det experiment create -f --config searcher.max_steps=4 tutorial/const.yaml tutorial\n"
        "det experiment list-checkpoints --csv 1\n"
    )
    (error,) = re.findall(r"^1,400,COMPLETED,([0-9.]+),", said, re.MULTILINE)
    assert float(error) < 0.4  # 0.9 before it is trained


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
        metadata = wheel.read(f"{info}/METADATA").decode()
        for extra, needed in {"torch": "torch", "tensorflow": "tensorflow", "ray": "ray", "optuna": "optuna"}.items():
            assert f"Provides-Extra: {extra}\n" in metadata
            assert re.search(rf"^Requires-Dist: {needed}[^;]*; extra == ['\"]{extra}['\"]$", metadata, re.M)
        for library in ("libssl3", "libsqlite3-0", "libcurl4"):
            assert library in bundled
            assert f"{info}/licenses/{library}.txt" in names
        compiled = json.loads(wheel.read(f"{info}/sboms/compiled.cdx.json"))["components"]
        for library in ("libboost1.81-dev", "libcli11-dev", "libexpected-dev"):  # headers alone: nothing is bundled
            assert library in {one["name"] for one in compiled}
            assert f"{info}/licenses/{library}.txt" in names
        assert not [one for one in compiled if one["name"] in ("libgtest-dev", "libbenchmark-dev")]
        pages = json.loads(wheel.read(f"{info}/sboms/pages.cdx.json"))
        assert "react" in {one["name"] for one in pages["components"]}


@pytest.mark.parametrize("run", ["uvx --offline --from {wheel}", "pipx run --spec {wheel}"])
def test_uvx_and_pipx_run_it_without_an_environment(run, tmp_path):
    programs = install("runners-1", "uv==0.13.9", "pipx==1.18.4")
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    words = [*run.format(wheel=WHEELS[-1]).split(), "det", "init", "spirals"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Made a PyTorchTrial in spirals" in done.stdout
    assert (tmp_path / "spirals" / "model_def.py").exists()


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
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([found[0], "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("train 100 v1User("), done.stderr


def test_a_type_checker_reads_the_types_of_the_package(newcomer, tmp_path):
    (tmp_path / "program.py").write_text(TYPED)
    checker = install("pyright-1", "pyright[nodejs]==1.1.414") / "pyright"
    words = [checker, "--outputjson", "--pythonpath", newcomer.bin / "python", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True)
    said = [(found["severity"], found["message"]) for found in json.loads(done.stdout)["generalDiagnostics"]]
    assert said == [
        ("information", 'Type of "checkpoint.uuid" is "str"'),
        ("information", 'Type of "operation.length" is "int"'),
    ]


TYPED = """
from determined import core
from determined.experimental import client


def best(experiment_id: int) -> str:
    checkpoint = client.get_experiment(experiment_id).top_checkpoint()
    reveal_type(checkpoint.uuid)
    return checkpoint.uuid


def train(context: core.Context) -> None:
    for operation in context.searcher.operations():
        reveal_type(operation.length)
        context.train.report_validation_metrics(operation.length, {"loss": 0.5})
        operation.report_completed(0.5)
"""


def other_pythons():
    homes = [*map(pathlib.Path, os.environ["PATH"].split(":")), *pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    homes = [home for home in homes if home.name != "shims"]  # pyenv's refuse versions that are not chosen
    return [path for home in homes for path in home.glob("python3.*") if path.resolve() != pathlib.Path(sys.executable)]
