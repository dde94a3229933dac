"""Generic tasks and the settings of commands, with the original's own client and with ours."""

import re
import subprocess

import pytest
from cluster import PATIENCE, wait_until

# Counts its runs in a file; the first goes on until it is asked to end, the second ends by itself.
COUNTS = """
import os, pathlib, signal, sys, time
runs = pathlib.Path(os.environ["RUNS"])
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
print("run", len(runs.read_text()), "with", open("note.txt").read().strip(), flush=True)
if len(runs.read_text()) == 1:
    signal.signal(signal.SIGTERM, lambda *_: print("asked to end", flush=True) or sys.exit(0))
    time.sleep(600)
"""

# Waits for the word that it shall give way, and leaves with or without an acknowledgement.
HEEDS = """
import os, sys, urllib.request
base = f"{os.environ['DET_MASTER']}/api/v1/allocations/{os.environ['DET_ALLOCATION_ID']}/signals/"
headers = {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}
def call(path, method="GET"):
    request = urllib.request.Request(base + path, method=method, headers=headers)
    return urllib.request.urlopen(request).read()
print("preempt", b"true" in call("preemption?timeoutSeconds=0"), flush=True)
assert b"true" in call("preemption?timeoutSeconds=600")
call("ack_preemption", "POST")
print("gives way", flush=True)
"""


OPTIONS = ["--slots", "1"]


@pytest.fixture(scope="module", params=["original", "own"])
def det(request, cluster, original_client):
    """Runs `det` of one of the two clients."""

    def run(*words, directory=None, code=0):
        if request.param == "own":
            return cluster.run(*map(str, words), directory=directory, code=code)
        settings = {"DET_MASTER": cluster.url, "DET_USER": "determined", "DET_PASS": "", "COLUMNS": "200"}
        environment = {key: value for key, value in cluster.environment.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [str(original_client / "det"), *map(str, words)],
            env=environment | settings,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        text = done.stdout + done.stderr
        assert done.returncode == code, f"det {' '.join(map(str, words))} ended with {done.returncode}:\n{text}"
        return text

    return run


def state(cluster, id):
    return cluster.get(f"tasks/{id}")["task"]["taskState"].removeprefix("GENERIC_TASK_STATE_")


def wait_for(cluster, id, wanted):
    wait_until(lambda: state(cluster, id) == wanted, f"task {id} {wanted}", PATIENCE)


def log(cluster, id):
    return cluster.run("task", "logs", id)


def project(path, program, **settings):
    """A directory with a program and its configuration."""
    path.mkdir(exist_ok=True)
    (path / "main.py").write_text(program)
    (path / "note.txt").write_text("its files\n")
    variables = [f"{key}={value}" for key, value in settings.items()]
    (path / "task.yaml").write_text(
        "entrypoint: [python, main.py]\ndescription: counts\nresources: {slots: 0}\n"
        f"environment: {{environment_variables: {variables}}}\n"
    )
    return path


def created(text):
    return re.search(r"Created task (\S+)", text).group(1)


def test_a_task_is_created_paused_resumed_and_runs_to_its_end(det, cluster, tmp_path):
    directory = project(tmp_path / "task", COUNTS, RUNS=tmp_path / "runs")
    id = created(det("task", "create", "task.yaml", "--context", ".", directory=directory))
    wait_until(lambda: "run 1 with its files" in log(cluster, id), "output", PATIENCE)
    assert id in det("task", "list")
    det("task", "pause", id)
    wait_for(cluster, id, "PAUSED")
    assert "asked to end" in log(cluster, id)
    assert id in det("task", "list")
    det("task", "unpause", id)
    wait_for(cluster, id, "COMPLETED")
    assert "run 2 with its files" in det("task", "logs", id)
    assert "description: counts" in det("task", "config", id)
    assert len(cluster.get(f"tasks/{id}")["task"]["allocations"]) == 2
    again = created(det("task", "fork", id))
    wait_for(cluster, again, "COMPLETED")
    assert "run 3 with its files" in log(cluster, again)
    assert cluster.get(f"tasks/{again}")["task"]["forkedFrom"] == id


def test_a_task_that_asks_is_told_to_give_way_and_is_not_killed(det, cluster, tmp_path):
    directory = project(tmp_path / "task", HEEDS)
    id = created(det("task", "create", "task.yaml", "-c", ".", directory=directory))
    wait_until(lambda: "preempt False" in log(cluster, id), "the first answer", PATIENCE)
    det("task", "pause", id)
    wait_for(cluster, id, "PAUSED")
    assert "gives way" in log(cluster, id)
    det("task", "kill", id)
    assert state(cluster, id) == "CANCELED"


def test_children_end_with_their_root_and_some_tasks_cannot_be_paused(det, cluster, tmp_path):
    directory = project(tmp_path / "task", "import time\ntime.sleep(600)\n")
    create = ("task", "create", "task.yaml", "-c", ".")
    root = created(det(*create, directory=directory))
    child = created(det(*create[:3], "--parent", root, "--inherit_context", "--no_pause", directory=directory))
    grandchild = created(det(*create, "--parent", child, directory=directory))
    assert "was created with noPause" in det("task", "pause", child, code=1)
    det("task", "kill", "--root", grandchild)
    for id in (root, child, grandchild):
        wait_for(cluster, id, "CANCELED")
    assert "must be" in det(*create, "--config", "resources.slots=-1", directory=directory, code=1)


def test_a_followed_task_shows_its_log_and_old_logs_are_cleaned_up(det, cluster, tmp_path):
    directory = project(tmp_path / "task", "print('hello from it')\n")
    text = det("task", "create", "task.yaml", "-c", ".", "--follow", directory=directory)
    assert "hello from it" in text and created(text)
    settings = {"DET_USER": "admin", "DET_PASS": ""}
    assert "Deleted" in cluster.run("-u", "admin", "task", "cleanup-logs", environment=settings)


def test_a_command_has_a_directory_and_mounts_of_the_machine(det, cluster, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (here / "found.txt").write_text("")
    free = ("--config", "resources.slots=0")
    assert "found.txt" in det("command", "run", *free, "--config", f"work_dir={here}", "ls")
    assert "found.txt" in det("command", "run", *free, "-v", f"{here}:/mnt", "ls", here)
    text = det("command", "run", "-d", *free, "--config", "work_dir=/no/such/place", "ls")
    missing = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", text).group(0)
    wait_until(
        lambda: "work_dir is /no/such/place, which is not a directory" in log(cluster, missing), "the reason", PATIENCE
    )


def test_a_paused_task_is_there_after_the_master_was_killed(start, tmp_path):
    cluster = start(apart=True)
    directory = project(tmp_path / "task", COUNTS, RUNS=tmp_path / "runs")
    id = created(cluster.run("task", "create", "task.yaml", "--context", ".", directory=directory))
    wait_until(lambda: "run 1" in log(cluster, id), "output", PATIENCE)
    cluster.run("task", "pause", id)
    wait_for(cluster, id, "PAUSED")
    cluster.master.kill()
    cluster.start_master()
    assert state(cluster, id) == "PAUSED"
    cluster.run("task", "unpause", id)
    wait_for(cluster, id, "COMPLETED")
    assert "taskState: GENERIC_TASK_STATE_COMPLETED" in cluster.run("task", "describe", id)
