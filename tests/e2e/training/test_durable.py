"""What the master said yes to is there after `kill -9` in the next instant."""

import io
import random
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
import zipfile

from cluster import BINARY, REPOSITORY, wait_until

MODEL = REPOSITORY / "tests" / "e2e" / "models" / "broken"


def test_what_was_answered_is_there_after_a_kill_in_the_next_instant(start):
    cluster = start(apart=True)
    expected = {}
    for number in range(5):
        id = cluster.create(MODEL, "--paused", "--config", f"description=number {number}")
        cluster.master.kill()
        cluster.start_master()
        expected[id] = f"number {number}"
        cluster.run("experiment", "set", "description", id, f"renamed {number}")
        cluster.master.kill()
        cluster.start_master()
        expected[id] = f"renamed {number}"
        found = {e["id"]: e["description"] for e in cluster.get("experiments")["experiments"]}
        assert found == expected
        assert cluster.experiment(id)["state"] == "STATE_PAUSED"


def test_a_kill_in_the_middle_of_many_submissions_loses_none_that_was_answered(start):
    cluster = start(apart=True)
    for _ in range(3):
        answered = submit_until_killed(cluster)
        cluster.start_master()
        there = [e["id"] for e in cluster.get("experiments")["experiments"]]
        assert answered
        assert set(answered) <= set(there)
        assert len(there) == len(set(there))


def submit_until_killed(cluster):
    """Kills the master while two users submit; the ids that they were told."""
    answered, refused = [], []
    killed = threading.Event()

    def submit():
        while not killed.is_set():
            try:
                answered.append(cluster.create(MODEL, "--paused"))
            except AssertionError as error:  # the command says that the master does not answer
                if not killed.is_set():
                    refused.append(str(error))
                return

    threads = [threading.Thread(target=submit) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: answered or refused, "a submission's answer")
    time.sleep(random.uniform(0, 0.3))
    killed.set()
    cluster.master.kill()
    for thread in threads:
        thread.join()
    assert not refused, "refused while the master was alive"
    return answered


def test_deletions_that_were_answered_come_to_their_end_after_a_kill_in_the_next_instant(start):
    cluster = start(apart=True)
    vision = cluster.get("workspaces", "POST", {"name": "vision"})["workspace"]["id"]
    cluster.run("project", "create", "vision", "detectors")
    place = ("--config", "workspace=vision", "--config", "project=detectors")
    alone = cluster.create(MODEL, "--paused")
    held = [cluster.create(MODEL, "--paused", *place) for _ in range(10)]
    for id in (alone, *held):
        cluster.run("experiment", "kill", id)
    cluster.get(f"experiments/{alone}", "DELETE")
    assert cluster.get(f"workspaces/{vision}", "DELETE") == {"completed": False}
    cluster.master.kill()
    cluster.start_master()
    wait_until(lambda: not cluster.get("experiments")["experiments"], "the end of all experiments")
    wait_until(lambda: len(cluster.get("workspaces")["workspaces"]) == 1, "the end of the workspace")

    cluster.run("project", "create", "Uncategorized", "detectors")
    id = cluster.create(MODEL, "--paused", "--project_id", cluster.get("workspaces/1/projects")["projects"][-1]["id"])
    refused = cluster.run("project", "delete", "Uncategorized", "detectors", "--yes", code=1)
    assert f"experiment {id} is not finished; cancel or kill it first" in refused
    cluster.run("experiment", "kill", id)
    said = cluster.run("project", "delete", "Uncategorized", "detectors", "--yes")
    assert "Deletion of project 'detectors' is in progress; it ends when the experiment in it is deleted" in said
    wait_until(lambda: len(cluster.get("workspaces/1/projects")["projects"]) == 1, "the end of the project")


def zip_of(cluster, uuid):
    headers = {"Accept": "application/zip", "Authorization": f"Bearer {cluster.token}"}
    request = urllib.request.Request(f"{cluster.url}/checkpoints/{uuid}", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["Content-Type"] == "application/zip"
        return zipfile.ZipFile(io.BytesIO(answer.read()))


def test_a_checkpoint_comes_from_the_master_as_a_directory_or_as_zip_and_a_link_in_it_leads_nowhere(
    start, noisy, tmp_path
):
    cluster = start()
    id = cluster.create(noisy)
    cluster.wait_for_state(id, "COMPLETED")
    saved = cluster.get(f"experiments/{id}/checkpoints")["checkpoints"]
    uuid = max(saved, key=lambda one: one["metadata"]["steps_completed"])["uuid"]  # the last one stays
    files = cluster.directory / "checkpoints" / uuid
    whole = cluster.run("checkpoint", "download", uuid, "--mode", "master", "-o", tmp_path / "whole")
    assert uuid in whole
    zipped = zip_of(cluster, uuid)
    assert zipped.testzip() is None
    unpacked = {
        str(file.relative_to(tmp_path / "whole")): file for file in (tmp_path / "whole").rglob("*") if file.is_file()
    }
    assert {name for name in zipped.namelist() if not name.endswith("/")} == set(unpacked)
    for name, file in unpacked.items():
        assert zipped.read(name) == file.read_bytes() == (files / name).read_bytes()
    (files / "metadata.json").unlink()
    (files / "metadata.json").symlink_to(cluster.directory / "agent.token")
    said = cluster.run("checkpoint", "download", uuid, "--mode", "master", "-o", tmp_path / "linked", code=1)
    assert "metadata.json" in said
    assert not (tmp_path / "linked" / "metadata.json").exists()


def test_a_backup_that_is_killed_is_not_taken_for_a_whole_one(start, tmp_path):
    cluster = start()
    large = cluster.directory / "checkpoints" / "large"
    large.parent.mkdir(exist_ok=True)
    with large.open("wb") as file:
        file.truncate(64 << 20)
    copy, unfinished = tmp_path / "copy", tmp_path / "copy.unfinished"
    words = [BINARY, "backup", str(copy), "--dir", str(cluster.directory)]
    # The system ends the program in the middle of the file that is too large.
    limit = ["prlimit", f"--fsize={32 << 20}", "--core=0"]
    killed = subprocess.run([*limit, *words], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGXFSZ, killed.stderr
    assert not copy.exists() and (unfinished / "determined.db").exists()
    for command in (
        ["master", "--dir", unfinished, "--port", "0"],
        ["migrate", "--from", f"sqlite:{unfinished}", "--to", "postgres://det@127.0.0.1:1/x"],
    ):
        assert "is an unfinished backup" in cluster.run(*command, master=False, code=1)
    said = cluster.run("backup", copy, "--dir", cluster.directory, master=False, code=1)
    assert f"'{unfinished}' already exists: a backup that was interrupted, or still runs; remove it" in said
    shutil.rmtree(unfinished)
    cluster.run("backup", copy, "--dir", cluster.directory, master=False)
    assert not unfinished.exists() and sorted(path.name for path in copy.iterdir()) == [
        "agent.token",
        "checkpoints",
        "determined.db",
        "webhook.key",
    ]


def test_a_backup_of_a_running_master_goes_on_where_it_was_put_back(start, noisy, tmp_path):
    cluster = start()
    id = cluster.create(noisy)
    checkpointed = cluster.trial_of(id)["id"]
    wait_until(lambda: cluster.get(f"experiments/{id}/checkpoints")["checkpoints"], "a checkpoint")
    copy = tmp_path / "copy"
    said = cluster.run("backup", copy, "--dir", cluster.directory, master=False)
    assert "checkpoint files" in said
    for key in ("agent.token", "webhook.key"):
        assert (copy / key).read_bytes() == (cluster.directory / key).read_bytes()
        assert (copy / key).stat().st_mode & 0o077 == 0
    assert "already exists" in cluster.run("backup", copy, "--dir", cluster.directory, master=False, code=1)
    cluster.wait_for_state(id, "COMPLETED")
    expected = cluster.metrics(checkpointed, "validation")
    cluster.end()

    (tmp_path / "lost").mkdir()
    cluster.directory.rename(tmp_path / "lost" / "cluster")
    copy.rename(cluster.directory)
    cluster.start()
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.metrics(checkpointed, "validation") == expected
