"""Model definitions of several files, with a CMakeLists.txt of their own, and against an installed det."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from cluster import BINARY, REPOSITORY
from cxx import PROGRAM, needs_det_trial, running

PROJECT = pathlib.Path(__file__).parents[1] / "models" / "project_cxx"

pytestmark = needs_det_trial


@pytest.fixture
def run(tmp_path, compiled):
    with running(tmp_path, compiled) as cluster:
        yield cluster


def call(*words, code=0, **settings):
    """What a program prints; it must end with ``code``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DET")} | settings.pop("variables", {})
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=400, env=environment, **settings
    )
    text = done.stdout + done.stderr
    assert done.returncode == code, f"{words} ended with {done.returncode}:\n{text}"
    return text


def locally(definition, compiled, code=0):
    """The local test of a definition, which needs no master."""
    return call(
        *(BINARY, "experiment", "create", "--local", "--test", "const.yaml", "."),
        cwd=definition,
        variables={"DET_CXX_CACHE": str(compiled.place), "OMP_NUM_THREADS": "1"},
        code=code,
    )


def entered_by(definition, entrypoint):
    config = definition / "const.yaml"
    config.write_text(re.sub("entrypoint: .*", f"entrypoint: {entrypoint}:WavesTrial", config.read_text()))


def test_what_runs_trials_in_c_plus_plus_lies_beside_the_installed_program():
    installed = REPOSITORY / ".venv" / "bin"
    if not (installed / "det").exists():
        pytest.skip("tools/build.sh has not been run here")
    assert "det-trial" in call(installed / "det-trial", "--version")


def test_a_definition_with_a_cmakelists_is_built_by_cmake_and_has_the_numbers_of_its_sources(run):
    by_cmake = run.create(PROJECT)
    run.wait_for_state(by_cmake, "COMPLETED", seconds=400)
    assert "building CMakeLists.txt" in run.log_text(by_cmake)
    by_us = run.create(PROJECT, "--config", "entrypoint=model_def.cpp:WavesTrial")
    run.wait_for_state(by_us, "COMPLETED", seconds=400)
    for group in ("training", "validation"):
        one, other = (run.metrics(run.trial_of(id)["id"], group) for id in (by_cmake, by_us))
        assert one
        assert one == other


def test_a_change_of_any_file_that_is_compiled_in_is_built_anew_and_nothing_else_is(tmp_path, compiled):
    definition = shutil.copytree(PROJECT, tmp_path / "definition")
    entered_by(definition, "model_def.cpp")
    header = definition / "wave.h"
    table = definition / "tables" / "frequency.values"  # the compiler alone knows that it belongs to it
    table.parent.mkdir()
    table.write_text("3.0")
    header.write_text(header.read_text().replace("2.0", '\n#include "tables/frequency.values"\n'))
    first = locally(definition, compiled)
    assert "compiling wave.cpp" in first
    (definition / "notes.txt").write_text("no source")
    assert "building" not in locally(definition, compiled)
    table.write_text("4.0")
    second = locally(definition, compiled)
    assert "compiling wave.cpp" in second

    def loss(text):
        return re.search(r"loss\W+([0-9.e-]+)", text)[1]

    assert loss(first) != loss(second)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project(waves CXX)\nfind_package(dett REQUIRED)\n", "CMake Error"),
        ("project(waves CXX)\n", "CMakeLists.txt builds no model.so; call det_add_trial(<sources>) in it"),
    ],
)
def test_a_cmakelists_that_builds_no_trial_is_told_why(tmp_path, compiled, text, said):
    definition = shutil.copytree(PROJECT, tmp_path / "definition")
    (definition / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\n{text}")
    assert said in locally(definition, compiled, code=1)


LOAD = """
import ctypes, sys
torch, ours = sys.argv[1:]
for name in ("c10", "torch_cpu", "torch", "c10_cuda", "torch_cuda"):
    ctypes.CDLL(f"{torch}/lib/lib{name}.so", ctypes.RTLD_GLOBAL)
parts = ctypes.CDLL(ours).det_gpu_parts
parts.restype = ctypes.POINTER(ctypes.c_void_p * 2)
print([function is not None for function in parts().contents])
"""


def test_the_library_for_gpus_is_built_and_finds_all_that_it_needs_of_pytorch():
    torch = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    if not (torch / "lib" / "libtorch_cuda.so").exists():
        pytest.skip("this PyTorch is for CPUs only")
    library = PROGRAM.parent.parent / "lib" / "libdet_pytorch_gpu.so"
    assert call(sys.executable, "-c", LOAD, torch, library).strip() == "[True, True]"


def can_debug():
    if shutil.which("gdb") is None:
        return False
    done = subprocess.run(["gdb", "--batch", "-ex", "run", "--args", "true"], capture_output=True, text=True)
    return "exited normally" in done.stdout


def test_a_program_outside_of_the_tree_builds_against_the_installation_and_runs_under_a_debugger(tmp_path):
    prefix, build = tmp_path / "installed", tmp_path / "build"
    call("cmake", "--install", PROGRAM.parent.parent, "--prefix", prefix, "--component", "trials")
    assert call(prefix / "bin" / "det-trial", "--version").startswith("det-trial ")
    definition = shutil.copytree(PROJECT, tmp_path / "definition")
    compiler = shutil.which("clang++-14") or "c++"  # reads the headers in a third of the time of g++
    options = [
        f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DWAVES_PROGRAM=ON",
        "-DCMAKE_BUILD_TYPE=Debug",
        f"-Ddet_DIR={prefix}/lib/cmake/det",
    ]
    call("cmake", "-S", definition, "-B", build, *options)
    call("cmake", "--build", build)
    program = [build / "waves", definition / "const.yaml", "--batches", "3"]
    text = call(*program, cwd=tmp_path)
    assert "finished after batch 3" in text
    linked = call("ldd", build / "waves")
    assert f"{prefix}/lib/libdet_pytorch.so" in linked, linked
    if not can_debug():
        return
    acts = [
        "set auto-solib-add off",
        "set breakpoint pending on",
        "break WavesTrial::train_batch",
        "run",
        "print batch.data.dim()",
    ]
    acts += ["backtrace 2", "delete", "continue"]
    words = [word for act in acts for word in ("-ex", act)]
    text = call("gdb", "--batch", *words, "--args", *program, cwd=tmp_path)
    assert re.search(r"Breakpoint 1.*WavesTrial::train_batch", text), text
    assert "model_def.cpp:" in text
    assert "finished after batch 3" in text
