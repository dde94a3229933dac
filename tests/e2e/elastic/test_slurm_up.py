"""`det up --slurm` of an ordinary user on a login node, as the guide says it."""

import contextlib
import os
import pathlib
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile

import pytest
from cluster import BINARY, PYTHON, REPOSITORY, wait_until
from guide import read_few_images, script_of
from images import few_images
from slurm import USER, as_user


@pytest.fixture
def home():
    """A directory that an ordinary user reaches: those of pytest are its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        yield path


def test_the_commands_of_the_guide_work_for_an_ordinary_user(slurm, home):
    (home / "bin").mkdir()
    (home / "bin" / "det").symlink_to(pathlib.Path(BINARY).resolve())
    shutil.copytree(REPOSITORY / "examples", home / "examples")
    read_few_images(home / "examples")
    pathlib.Path(few_images()[1].partition("=")[2]).chmod(0o755)
    account = pwd.getpwnam(USER)
    for path in (home, *home.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    environment = slurm.environment(USER) | {
        "HOME": str(home),
        "PATH": f"{home}/bin:{slurm.environment()['PATH']}",
        "DET_PYTHON": PYTHON,
        "DET_PYTHON_PATH": str(REPOSITORY / "python"),
    }
    script = script_of((REPOSITORY / "docs" / "guide" / "slurm.md").read_text())
    script = script.replace("det up --slurm", "det up --slurm --idle-timeout 3s")
    with subprocess.Popen(
        ["bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
        **(as_user(USER) | {"cwd": home}),
    ) as shell:
        try:
            said, _ = shell.communicate(script, timeout=150)
        finally:
            log = home / "up.log"
            print(log.read_text() if log.exists() else "", shlex.join(map(str, home.rglob("*.log"))))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, said[-4000:]
    assert "The master is ready; its trials run on Slurm partition main" in said
    assert "ssh -L" in said and "COMPLETED" in said
    assert "Slurm partition main" in said.split("resource-pool describe")[1]
    secret = home / "master" / "password"
    assert secret.stat().st_mode & 0o077 == 0 and secret.read_text().strip() not in said
    jobs = [job for job in slurm.jobs().values() if job.user == USER]
    assert jobs
    for job in jobs:
        slurm.cancel(job.id)
    wait_until(lambda: all(slurm.job(job.id).state not in ("RUNNING", "PENDING") for job in jobs), "no jobs")
