"""What a machine lacks is said in a sentence, with what to install. test_wheel_cxx.py: what trials in C++ need."""

import os
import subprocess

import pytest
from cluster import BINARY, REPOSITORY, Cluster

NOISY = REPOSITORY / "tests" / "e2e" / "models" / "noisy"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python with the package determined and nothing else."""
    home = tmp_path_factory.mktemp("bare")
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", home], check=True)
    (packages,) = home.glob("lib/python3*/site-packages")
    (packages / "determined.pth").write_text(str(REPOSITORY / "python"))
    return str(home / "bin" / "python3")


def call(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DET", "PYTHON"))}
    done = subprocess.run([BINARY, *words], env=environment | variables, capture_output=True, text=True, cwd=NOISY)
    return done.stdout + done.stderr


def test_a_trial_without_pytorch_says_how_to_install_it(bare, tmp_path):
    cluster = Cluster(tmp_path / "cluster", options=("--no-warm-worker",))
    cluster.python = bare
    try:
        cluster.start()
        id = cluster.create(NOISY, "--config", "max_restarts=0")
        cluster.wait_for_state(id, "ERROR")
        log = cluster.log_text(id)
    finally:
        cluster.end()
    assert f"{bare} has no package numpy; install it there: {bare} -m pip install numpy" in log
    assert "model_def.py" in log  # where it is needed
    assert "determined/exec/trial.py" not in log


def test_a_local_test_needs_no_package_for_yaml_and_says_what_it_needs(bare):
    said = call("experiment", "create", "--local", "--test", "const.yaml", ".", DET_PYTHON=bare)
    assert f"{bare} has no package numpy; install it there: {bare} -m pip install numpy" in said
    assert "YAML" not in said


def test_without_git_its_option_says_that_it_needs_it(tmp_path):
    said = call("experiment", "create", "--git", "const.yaml", ".", PATH=str(tmp_path))
    assert "Failed to create experiment: --git needs the program git" in said


def test_the_doctor_names_the_programs_that_some_need_and_how_to_install_them(tmp_path):
    said = call("doctor", "--dir", str(tmp_path), PATH=str(tmp_path), DET_PYTHON="/usr/bin/python3")
    assert "apt-get install g++" in said
    assert "apt-get install git" in said
