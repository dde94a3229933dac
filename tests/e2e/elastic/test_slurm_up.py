"""`det up --slurm` of an ordinary user on a login node, as the guide says it."""

import contextlib
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
from cluster import BINARY, PYTHON, REPOSITORY, wait_until
from engine_pool import NOISY
from guide import read_few_images, script_of
from images import few_images
from slurm import USER, as_user


@pytest.fixture
def home():
    """A directory that an ordinary user reaches, with `det`: those of pytest are its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        (path / "bin").mkdir()
        (path / "bin" / "det").symlink_to(pathlib.Path(BINARY).resolve())
        yield path


def on_the_login_node(slurm, home, script, **variables):
    """What the script prints, which an ordinary user runs at home. No process and no job of it is left."""
    account = pwd.getpwnam(USER)
    for path in (home, *home.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    environment = slurm.environment(USER) | {
        "HOME": str(home),
        "PATH": f"{home}/bin:{slurm.environment()['PATH']}",
        "DET_PYTHON": PYTHON,
        "DET_PYTHON_PATH": str(REPOSITORY / "python"),
    }
    with subprocess.Popen(
        ["/bin/bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment | variables,
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
            jobs = jobs_of_the_user(slurm)
            for job in jobs:
                slurm.cancel(job.id)
    assert shell.returncode == 0, said[-4000:]
    wait_until(lambda: all(slurm.job(job.id).state not in ("RUNNING", "PENDING") for job in jobs), "no jobs")
    return said


def jobs_of_the_user(slurm):
    return [job for job in slurm.jobs().values() if job.user == USER]


def test_the_commands_of_the_guide_work_for_an_ordinary_user(slurm, home):
    shutil.copytree(REPOSITORY / "examples", home / "examples")
    read_few_images(home / "examples")
    pathlib.Path(few_images()[1].partition("=")[2]).chmod(0o755)
    script = script_of((REPOSITORY / "docs" / "guide" / "slurm.md").read_text())
    script = script.replace("det up --slurm", "det up --slurm --idle-timeout 3s")
    said = on_the_login_node(slurm, home, script)
    assert "The master is ready; its trials run on Slurm partition main" in said
    port = re.search(r"DET_MASTER=https://\S+:(\d+)", (home / "master" / "environment").read_text()).group(1)
    assert f"ssh -L {port}:localhost:{port} {socket.gethostname()} " in said and "COMPLETED" in said
    assert "Slurm partition main" in said.split("resource-pool describe")[1]
    secret = home / "master" / "password"
    assert secret.stat().st_mode & 0o077 == 0 and secret.read_text().strip() not in said
    assert jobs_of_the_user(slurm)


def test_each_trial_is_a_job_of_its_own_where_the_user_wants_it(slurm, home):
    shutil.copytree(NOISY, home / "model")
    before = {job.id for job in jobs_of_the_user(slurm)}
    search = "searcher={name: random, metric: validation_loss, max_trials: 2, max_length: {batches: 20}}"
    said = on_the_login_node(
        slurm,
        home,
        f"""
        set -e
        det up --slurm --partition main --granularity task --grace-period 1m --dir master > up.log 2>&1 &
        until [ -e master/environment ]; do sleep 0.1; done
        . master/environment
        det experiment create model/const.yaml model --config {shlex.quote(search)}
        det experiment wait 1
        """,
    )
    assert "COMPLETED" in said
    jobs = [job for job in jobs_of_the_user(slurm) if job.id not in before]
    comments = {slurm.run("scontrol", "show", "job", job.id).stdout.partition("Comment=")[2].split()[1] for job in jobs}
    assert len(jobs) == len(comments) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--granularity node", "--granularity: node not in {pool,task}"),
        ("--granularity task --min-nodes 1", "min_nodes is 1; it must be 0 with granularity: task"),
        ("--min-nodes 3 --max-nodes 2", "min_nodes is 3; it must not be greater than max_nodes, which is 2"),
        ("--time-limit 00:01:00", "time_limit is 60 s; it must be longer than grace_period, which is 120 s"),
        ("--partition nope", "Slurm: Partition nope not found"),
    ],
)
def test_options_that_cannot_be_are_said_and_no_master_starts(slurm, home, options, words):
    said = on_the_login_node(slurm, home, f"! timeout 60 det up --slurm --dir master {options}")
    assert words in said, said
    assert not (home / "master" / "environment").exists()


def test_a_machine_without_slurm_is_said_and_no_master_starts(slurm, home):
    said = on_the_login_node(slurm, home, "! /usr/bin/timeout 60 det up --slurm --dir master", PATH=f"{home}/bin")
    assert "the command scontrol was not found; install it, or add it to the PATH of the master" in said, said
