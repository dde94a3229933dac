"""Tasks that are no trials, on real processes: commands run, wait, are killed, survive, and leave nothing behind."""

import json
import os
import pathlib
import re
import subprocess
import time

from cluster import BINARY, kill_process, wait_until

FREE = ("--config", "resources.slots=0")


OPTIONS = ["--slots", "1"]


def run(cluster, *words, code=0, **settings):
    return cluster.run("command", "run", *words, code=code, **settings)


def detached(cluster, *words, **settings):
    """Starts a command; its id."""
    return run(cluster, "-d", *words, **settings).strip().splitlines()[-1]


def shown(cluster, id, kind="command"):
    return cluster.get(f"{kind}s/{id}")[kind]


def wait_for(cluster, id, state, kind="command"):
    def there():
        task = shown(cluster, id, kind)
        assert state == "TERMINATED" or task["state"] != "STATE_TERMINATED", (task, log(cluster, id))
        return task if task["state"] == f"STATE_{state}" else None

    return wait_until(there, f"{kind} {id} in state {state}")


def lines(cluster, id):
    answers = cluster.get(f"tasks/{id}/logs")
    answers = answers if isinstance(answers, list) else [answers]
    return [answer["result"] for answer in answers]


def log(cluster, id):
    return "".join(line["log"] for line in lines(cluster, id))


def alive(mark):
    """Processes that have the word among their arguments."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(mark.encode() in word for word in words) and b"det" not in words[0]:
            found.append((file.parent.name, words))
    return found


def test_a_command_shows_its_output_and_ends_with_its_status(cluster):
    text = run(cluster, *FREE, "echo", "hello", "world")
    assert "hello world" in text and "exited with status 0" in text
    text = run(cluster, *FREE, "echo to the shell | tr a-z A-Z; exit 3", code=3)
    assert "TO THE SHELL" in text and "exited with status 3" in text
    assert "exited with status 127" in run(cluster, *FREE, "no-such-program", "x", code=127)


def test_its_environment_is_that_of_a_task(cluster):
    text = run(cluster, *FREE, "--config", "environment.environment_variables=[COLOUR=blue, DET_USER=eve]", "env")
    pairs = dict(re.findall(r"INFO: (\w+)=(.*)", text))
    assert pairs["DET_TASK_TYPE"] == "COMMAND" and pairs["DET_MASTER"] == cluster.url
    assert pairs["DET_USER"] == "determined" and pairs["COLOUR"] == "blue"
    assert pairs["DET_SLOT_IDS"] == "[]" and pairs["DET_SESSION_TOKEN"]
    assert "DET_TRIAL_ID" not in pairs
    text = run(cluster, "python -c 'import determined, os; print(os.environ[\"DET_SLOT_IDS\"], determined.__name__)'")
    assert "[0] determined" in text


def test_a_directory_goes_with_it(cluster, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.txt").write_text("from the context\n")
    (tmp_path / "read.sh").write_text("#!/bin/sh\ncat data/words.txt; touch made-here\n")
    (tmp_path / "read.sh").chmod(0o755)
    assert "from the context" in run(cluster, *FREE, "--context", tmp_path, "./read.sh")
    assert not (tmp_path / "made-here").exists()


def test_a_template_and_a_file_lie_under_the_command_line(cluster, tmp_path):
    (tmp_path / "base.yaml").write_text("resources: {slots: 0}\ndescription: from the template\n")
    (tmp_path / "own.yaml").write_text("description: from the file\nentrypoint: [echo, from, file]\n")
    cluster.run("template", "set", "base", "base.yaml", directory=tmp_path)
    assert "from file" in run(cluster, "--template", "base", "--config-file", "own.yaml", directory=tmp_path)
    (tmp_path / "bad.yaml").write_text("entrypoint: x\nresources:\n  slots: -1\n")
    text = run(cluster, "--config-file", "bad.yaml", directory=tmp_path, code=1)
    assert "resources.slots (line 3): resources.slots must be >= 0" in text
    assert "/data is not mounted at /mnt" in run(cluster, *FREE, "-v", "/data:/mnt", "true")


def test_a_killed_command_leaves_no_process_behind(cluster):
    mark = f"child-{os.getpid()}-{time.monotonic_ns()}"
    program = (
        "import subprocess, sys, signal, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('asked to end', flush=True) or sys.exit(9))\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'],"
        " start_new_session=True)\n"
        "print('child started', flush=True)\n"
        "time.sleep(600)\n"
    )
    id = detached(cluster, *FREE, "python", "-c", program)
    wait_until(lambda: "child started" in log(cluster, id), "the child")
    assert alive(mark)
    assert f"Killed command {id}" in cluster.run("command", "kill", id[:13])
    task = wait_for(cluster, id, "TERMINATED")
    assert task["exitStatus"] == "killed by user determined" and task["exitCode"] == 9
    assert "asked to end" in log(cluster, id)
    wait_until(lambda: not alive(mark), "an end of the child")
    assert "killed by user determined" in cluster.run("command", "list")


def test_without_slots_it_runs_beside_a_full_cluster_and_with_one_it_waits(cluster):
    first = detached(cluster, "sleep", "600")
    wait_for(cluster, first, "RUNNING")
    assert "beside it" in run(cluster, *FREE, "echo", "beside", "it")
    second = detached(cluster, "--config", "description=the second", "echo", "my turn")
    assert shown(cluster, second)["state"] == "STATE_QUEUED"
    assert "the second" in cluster.run("job", "list") and "COMMAND" in cluster.run("job", "list")
    assert "it is waiting: needs 1 slot" in cluster.run("job", "why", second)
    assert "Set the priority" in cluster.run("command", "set", "priority", second, "7")
    assert second in cluster.run("task", "list")
    cluster.run("task", "kill", first)
    wait_for(cluster, second, "TERMINATED")
    assert "my turn" in log(cluster, second)
    assert "no agent of the cluster can run the command" in run(cluster, "-d", "--config", "resources.slots=5", "true")


def test_without_roles_one_user_may_kill_what_another_started_and_is_named(cluster):
    cluster.run("-u", "admin", "user", "create", "eve")
    id = detached(cluster, *FREE, "sleep", "600")
    own = cluster.token
    cluster.token = cluster.get("auth/login", "POST", {"username": "eve", "password": ""})["token"]
    try:
        assert id not in [task["id"] for task in cluster.get("commands?users=me")["commands"]]
        assert id in [task["id"] for task in cluster.get("commands")["commands"]]
        cluster.get(f"commands/{id}/kill", "POST", {})
    finally:
        cluster.token = own
    assert wait_for(cluster, id, "TERMINATED")["exitStatus"] == "killed by user eve"


def test_a_remote_user_has_no_password_until_made_local(cluster):
    def admin(*words, code=0):
        return cluster.run("-u", "admin", "user", *words, code=code)

    def log_in(code):
        return cluster.run("user", "whoami", environment={"DET_USER": "rita", "DET_PASS": ""}, code=code)

    assert "excludes" in admin("create", "rita", "--remote", "--password", "pw", code=None)
    admin("create", "rita", "--remote")
    users = json.loads(admin("list", "--json"))
    assert {user["username"]: user["remote"] for user in users}["rita"] is True
    assert "user 'rita' is remote and cannot log in with a password" in log_in(code=1)
    assert admin("edit", "rita", "--remote", "false") == "Changes made to the following fields: remote\n"
    assert "rita" in log_in(code=0)
    admin("edit", "rita", "--remote", "true")
    assert "is remote" in log_in(code=1)


def test_every_form_of_output_shows_it(cluster):
    id = detached(cluster, *FREE, "--config", "description=forms", "echo", "hi")
    wait_for(cluster, id, "TERMINATED")
    listed = json.loads(cluster.run("command", "list", "--json"))
    assert id in [task["id"] for task in listed]
    assert "Id,Owner,Description" in cluster.run("command", "list", "--csv")
    assert id in cluster.run("command", "list", "-q").split()
    assert "description: forms" in cluster.run("command", "describe", id)
    assert "- echo" in cluster.run("command", "config", id)
    assert "hi" in cluster.run("command", "logs", id) and "hi" in cluster.run("task", "logs", id)
    assert "command" in cluster.run("resources", "raw", "2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z")


COUNT = "import sys, time\nfor i in range(int(sys.argv[1])):\n    print('line', i, flush=True)\n    time.sleep(0.02)\n"


def counted(cluster, id):
    return [int(number) for number in re.findall(r"^line (\d+)$", log(cluster, id), re.MULTILINE)]


def test_a_killed_master_finds_it_again_and_its_log_is_complete(start):
    cluster = start(apart=True)
    id = detached(cluster, *FREE, "python", "-c", COUNT, "250")
    follower = subprocess.Popen(
        [BINARY, "-m", cluster.url, "command", "logs", "-f", id],
        stdout=subprocess.PIPE,
        text=True,
        env=cluster.environment,
    )
    for _ in range(2):
        seen = len(wait_until(lambda: counted(cluster, id), "output"))
        wait_until(lambda: len(counted(cluster, id)) > seen + 20, "more output")  # noqa: B023
        cluster.master.kill()
        cluster.start_master()
    assert wait_for(cluster, id, "TERMINATED")["exitCode"] == 0
    assert counted(cluster, id) == list(range(250))
    assert len(cluster.get(f"tasks/{id}")["task"]["allocations"]) == 1
    followed, _ = follower.communicate(timeout=60)
    assert [int(n) for n in re.findall(r"line (\d+)$", followed, re.MULTILINE)] == list(range(250))


def test_a_killed_agent_finds_it_again_and_its_log_is_complete(start):
    cluster = start(apart=True)
    id = detached(cluster, "python", "-c", COUNT, "250")
    wait_until(lambda: len(counted(cluster, id)) > 20, "output")
    cluster.agent.kill()
    cluster.start_agent()
    assert wait_for(cluster, id, "TERMINATED")["exitCode"] == 0
    assert counted(cluster, id) == list(range(250))
    assert len(cluster.get(f"tasks/{id}")["task"]["allocations"]) == 1


def test_a_lost_process_above_it_is_its_end(start):
    cluster = start(apart=True)
    id = detached(cluster, *FREE, "sleep", "600")
    wait_for(cluster, id, "RUNNING")
    kill_process(wait_until(cluster.shims, "a shim")[0]["pid"])
    assert "was killed" in wait_for(cluster, id, "TERMINATED")["exitStatus"]
    assert len(cluster.get(f"tasks/{id}")["task"]["allocations"]) == 1


IDLE = """
import http.server, json, os, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
def say(what, body):
    request = urllib.request.Request(
        f"{os.environ['DET_MASTER']}/api/v1/tasks/{os.environ['DET_TASK_ID']}/{what}", method="POST",
        data=json.dumps(body).encode(), headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
    urllib.request.urlopen(request).read()
say("ready", {"port": server.server_port})
print("port", server.server_port, flush=True)
say("idle", {"idle": True})
server.serve_forever()
"""


def test_what_nobody_uses_is_ended_and_says_so(cluster):
    id = detached(cluster, *FREE, "--config", "idle_timeout=2s", "python", "-c", IDLE)
    wait_until(lambda: "port" in log(cluster, id), "the program's word")
    port = int(re.search(r"port (\d+)", log(cluster, id)).group(1))
    summary = next(t for t in cluster.get("tasks")["allocationIdToSummary"].values() if t["taskId"] == id)
    assert summary["proxyPorts"] == [{"port": port}]
    task = wait_for(cluster, id, "TERMINATED")
    assert task["exitStatus"] == "idle for more than 2s"
    assert "idle for more than 2s" in log(cluster, id)
