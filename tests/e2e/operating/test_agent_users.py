"""Tasks and trials that run as the account on the machine that their owner is linked to."""

import os
import subprocess

import pytest
from cluster import HERE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
ANN = {"agentUid": 54321, "agentGid": 54322, "agentUser": "ann", "agentGroup": "lab"}
LINK = ["--agent-uid", "54321", "--agent-user", "ann", "--agent-gid", "54322", "--agent-group", "lab"]


def open_way_to(directory):
    for parent in (directory, *directory.parents):
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)


def test_a_trial_and_a_command_of_a_linked_user_run_as_its_account(start):
    cluster = start()
    open_way_to(cluster.directory)
    user = cluster.get("me")["user"]
    cluster.run("-u", "admin", "user", "link-with-agent-user", user["username"], *LINK)
    assert cluster.get(f"users/{user['id']}")["user"]["agentUserGroup"] == ANN

    said = cluster.run(
        "command", "run", "--config", "resources.slots=0", "id -u; id -g; echo $USER; touch mine; stat -c %u mine"
    )
    lines = [line.rsplit("INFO: ", 1)[-1].strip() for line in said.splitlines()]
    assert [line for line in lines if line in ("54321", "54322", "ann")] == ["54321", "54322", "ann", "54321"]

    experiment = cluster.create(HERE / "models" / "noisy", "--config", "searcher.max_length=20")
    cluster.wait_for_state(experiment, "COMPLETED")
    trial = cluster.trial_of(experiment)["id"]
    (newest, *_) = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    files = cluster.directory / "checkpoints" / newest["uuid"]
    owners = {path.stat().st_uid for path in files.rglob("*")}
    assert owners == {54321}


def test_a_workspaces_account_goes_before_the_owners_and_null_removes_it(start):
    cluster = start()
    open_way_to(cluster.directory)
    workspace = cluster.get("workspaces", "POST", {"name": "lab", "agentUserGroup": ANN})["workspace"]
    assert workspace["agentUserGroup"] == ANN
    said = cluster.run("command", "run", "-w", "lab", "--config", "resources.slots=0", "id -u")
    assert "54321" in said
    changed = cluster.get(f"workspaces/{workspace['id']}", "PATCH", {"agentUserGroup": {}})["workspace"]
    assert not changed.get("agentUserGroup")
    said = cluster.run("command", "run", "-w", "lab", "--config", "resources.slots=0", "id -u")
    assert "54321" not in said


def test_an_agent_that_is_not_root_refuses_with_a_sentence(start, tmp_path):
    cluster = start(apart=True)
    open_way_to(cluster.directory)
    cluster.agent.kill()
    directory = tmp_path / "nobody"
    directory.mkdir()
    subprocess.run(["chown", "-R", "nobody", directory], check=True)
    token = directory / "token"
    token.write_bytes((cluster.directory / "agent.token").read_bytes())
    subprocess.run(["chown", "nobody", token], check=True)
    command = ["setpriv", "--reuid=nobody", "--clear-groups", "--", os.environ["DET_BINARY"], "agent"]
    command += ["--master", cluster.url, "--token-file", token, "--dir", directory / "state", "--agent-id", "nobody"]
    agent = subprocess.Popen(command, env=cluster.environment | {"HOME": str(directory)})
    try:
        user = cluster.get("me")["user"]
        cluster.run("-u", "admin", "user", "link-with-agent-user", user["username"], *LINK)
        said = cluster.run("command", "run", "--config", "resources.slots=0", "id -u", code=None)
        assert "it should run as ann:lab (uid 54321, gid 54322), but this agent runs as uid" in said
    finally:
        agent.kill()
        agent.wait()
