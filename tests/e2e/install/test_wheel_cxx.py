"""Trials in C++ from the wheel: the first one compiles the C++ runtime against the environment's own PyTorch."""

import re
import shutil

import pytest
from cluster import REPOSITORY
from newcomer import Newcomer, needs_wheel

pytestmark = needs_wheel
COMPILERS = [name for name in ("clang++-19", "g++") if shutil.which(name)]
LINKING = ("ld.lld", "ld", "as")
COMPILED = "compiling the C++ runtime for PyTorch"
LOCALLY = "environment/bin/det experiment create --local --test project/const.yaml project\n"


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    if not COMPILERS:
        pytest.skip("there is no C++ compiler")
    it = Newcomer(tmp_path_factory.mktemp("cxx")).install()
    it.use_ccache()
    it.shell("environment/bin/det init project --template cxx")
    shutil.copytree(REPOSITORY / "tests/e2e/models/project_cxx", it.home / "by_cmake")
    return it


@pytest.fixture(scope="module")
def trained(newcomer):
    """What the first trial of a newcomer prints and logs."""
    return newcomer.shell(
        f"export PATH=$PWD/environment/bin:$PATH DET_MASTER={newcomer.url}\n"
        "trap 'kill $(jobs -p)' EXIT\n"
        f"det up --dir state --port {newcomer.port} > det.log 2>&1 &\n"
        "until grep -q 'is ready' det.log; do sleep 0.1; kill -0 $!; done\n"
        "det experiment create -f project/const.yaml project\n"
        "det trial logs 1\n"
        "det experiment list --csv\n"
    )


def test_the_first_trial_compiles_the_runtime_says_so_and_trains(newcomer, trained):
    assert f"{COMPILED} " in trained
    assert re.search(r"the C\+\+ runtime is compiled \(\d+ s\)", trained)
    assert ",COMPLETED," in trained.replace("STATE_", "").replace(", ", ",")
    (runtime,) = (newcomer.home / ".cache/determined/cxx/runtime").glob("*/bin/det-trial")
    assert runtime.parents[1].name in newcomer.shell(f"ldd {runtime} | grep libdet_pytorch")


def test_later_trials_use_what_was_compiled(newcomer, trained):
    said = newcomer.shell(LOCALLY)
    assert COMPILED not in said
    assert "validation_loss" in said


def test_a_trial_with_a_cmakelists_finds_the_package_det(newcomer, trained):
    if shutil.which("cmake") is None:
        pytest.skip("there is no CMake")
    config = newcomer.home / "by_cmake/const.yaml"
    config.write_text(re.sub("entrypoint: .*", "entrypoint: CMakeLists.txt:WavesTrial", config.read_text()))
    said = newcomer.shell("environment/bin/det experiment create --local --test by_cmake/const.yaml by_cmake")
    assert "building CMakeLists.txt" in said
    assert COMPILED not in said


def test_without_cmake_a_trial_that_needs_it_says_what_to_install(newcomer, trained):
    only = newcomer.programs(*COMPILERS[:1], *LINKING, "env")
    config = newcomer.home / "by_cmake/const.yaml"
    config.write_text(re.sub("entrypoint: .*", "entrypoint: CMakeLists.txt:WavesTrial", config.read_text()))
    said = newcomer.shell(
        "environment/bin/det experiment create --local --test by_cmake/const.yaml by_cmake",
        code=1,
        PATH=only,
        DET_CXX=shutil.which(COMPILERS[0]),
    )
    assert "cmake was not found on this machine; install it there (apt-get install cmake" in said


def test_without_a_compiler_a_sentence_says_what_to_install(newcomer):
    said = newcomer.shell(LOCALLY, code=1, PATH=newcomer.programs("env"))
    assert "no C++ compiler found; C++ trials are compiled on the machine that runs them" in said
    assert "apt-get install clang lld" in said
    assert "Traceback" not in said


def test_without_pytorch_a_sentence_says_how_to_install_it(newcomer):
    newcomer.lose_pytorch()
    try:
        said = newcomer.shell(LOCALLY, code=1)
    finally:
        newcomer.shell(newcomer.take_pytorch())
    assert "C++ trials need PyTorch 2.11 or later, which is not installed" in said
    assert re.search(r"install it: \S+/environment/bin/python3? -m pip install torch", said)


def test_an_old_pytorch_is_named(newcomer, tmp_path):
    old = tmp_path / "torch"
    old.mkdir()
    (old / "__init__.py").touch()
    (old / "version.py").write_text("__version__ = '2.4.1+cpu'\n")
    said = newcomer.shell(LOCALLY, code=1, PYTHONPATH=str(tmp_path))
    assert "C++ trials need PyTorch 2.11 or later" in said
    assert "has 2.4.1+cpu; upgrade it:" in said


def test_a_compiler_that_cannot_compile_it_is_quoted(newcomer, tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'part0.cpp:1:10: fatal error: no such file' >&2\nexit 1\n")
    compiler.chmod(0o755)
    said = newcomer.shell(LOCALLY, code=1, DET_CXX=str(compiler))
    assert "cannot compile the C++ runtime for PyTorch" in said
    assert "part0.cpp:1:10: fatal error: no such file" in said
