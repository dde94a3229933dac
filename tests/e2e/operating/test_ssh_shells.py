"""Shells are SSH servers, reached through the master with the system's ssh, by our client and by the original's."""

import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from cluster import BINARY, PYTHON, Cluster, wait_until
from ports import free_ports

FREE = {"config": {"resources": {"slots": 0}}}
PATIENCE = 120

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh here")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("ssh") / "cluster").start()
    it.get("me")
    yield it
    it.end()


def wait_until_ready(cluster, shell):
    def ready():
        allocations = cluster.get(f"tasks/{shell}")["task"]["allocations"]
        if allocations and allocations[0].get("endTime"):
            raise AssertionError(f"shell {shell} ended:\n{log_of(cluster, shell)}")
        return allocations and allocations[0].get("isReady")

    wait_until(ready, f"shell {shell} ready", PATIENCE, pause=0.1)


def log_of(cluster, shell):
    lines = cluster.get(f"tasks/{shell}/logs")
    return "".join((line.get("result") or line)["log"] for line in (lines if isinstance(lines, list) else [lines]))


@pytest.fixture(scope="module")
def shell(cluster):
    it = cluster.get("shells", "POST", FREE)["shell"]["id"]
    wait_until_ready(cluster, it)
    return it


@pytest.fixture
def det(cluster, tmp_path):
    """Runs our client, whose cached files go to a directory of the test."""
    environment = cluster.environment | {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*words, input=None, code=0):
        done = subprocess.run(
            [BINARY, "-m", cluster.url, *map(str, words)],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def ssh_words(printed):
    """The words of an ssh command that a client printed."""
    line = next(line for line in printed.splitlines() if re.match(r"(\x1b\[\d+m)?ssh ", line))
    return shlex.split(re.sub(r"\x1b\[\d+m", "", line))


def without_terminal(words):
    """The options of an ssh command, as scp takes them, and its host."""
    return [word for word in words[1:-1] if word not in ("-t", "-tt")], words[-1]


def run(*words, code=0, **how):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **how)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def copies_files(options, host, tmp_path):
    data = os.urandom(5_000_000)
    (tmp_path / "there").write_bytes(data)
    run("scp", *options, tmp_path / "there", f"{host}:{tmp_path}/copied", stdin=subprocess.DEVNULL)
    run("scp", *options, f"{host}:{tmp_path}/copied", tmp_path / "back", stdin=subprocess.DEVNULL)
    return (tmp_path / "copied").read_bytes() == data == (tmp_path / "back").read_bytes()


def test_a_command_has_the_environment_and_the_directory_of_its_task(cluster, shell, det):
    said = det("shell", "open", shell, "--command", "echo $DET_TASK_ID $DET_TASK_TYPE; pwd; command -v python; env")
    lines = said.splitlines()
    assert lines[0] == f"{shell} SHELL"
    assert pathlib.Path(lines[1]).is_relative_to(cluster.directory), "where the task's files are"
    assert pathlib.Path(lines[2]).parent == pathlib.Path(PYTHON).parent, "the Python of the agent"
    assert "SSH_CONNECTION=" in said and "DET_SSH_PUBLIC_KEY" not in said


def test_the_status_of_a_command_is_the_clients(shell, det):
    det("shell", "open", shell, "--command", "exit 3", code=3)
    det("shell", "open", shell, "--", "sh -c 'exit 4'", code=4)


def test_files_are_copied_with_scp_and_rsync(shell, det, tmp_path):
    options, host = without_terminal(ssh_words(det("shell", "show_ssh_command", shell)))
    assert copies_files(options, host, tmp_path)
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "file").write_text("text")
    run("rsync", "-a", "-e", shlex.join(["ssh", *options]), tmp_path / "tree", f"{host}:{tmp_path}/synced")
    assert (tmp_path / "synced" / "tree" / "deep" / "file").read_text() == "text"
    key = pathlib.Path(options[options.index("-i") + 1])
    assert key.stat().st_mode & 0o777 == 0o600


def answers(port):
    def asked():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                return page.read().decode()
        except (OSError, urllib.error.URLError):
            return None

    return wait_until(asked, f"an answer on port {port}", pause=0.2)


def test_a_port_of_the_task_is_forwarded(cluster, shell, det, tmp_path):
    here, there = free_ports(2)
    (tmp_path / "index.html").write_text("served there")
    serve = f"cd {tmp_path} && exec python -m http.server --bind 127.0.0.1 {there}"
    client = subprocess.Popen(
        [BINARY, "-m", cluster.url, "shell", "open", shell, "--", "-L", f"{here}:127.0.0.1:{there}", serve],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=cluster.environment,
    )
    assert answers(here) == "served there"
    client.send_signal(signal.SIGTERM)
    client.wait(60)


def test_a_local_port_reaches_the_ssh_server(cluster, shell, det, tmp_path):
    options, host = without_terminal(ssh_words(det("shell", "show-ssh-command", shell)))
    key, (here,) = options[options.index("-i") + 1], free_ports(1)
    words = [BINARY, "-m", cluster.url, "tunnel", shell, "--listener", str(here)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=cluster.environment) as tunnel:
        assert f"127.0.0.1:{here}" in tunnel.stdout.readline()
        plain = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-i", key, "-p", str(here)]
        for _ in range(2):
            said = run("ssh", *plain, f"{host.partition('@')[0]}@127.0.0.1", "echo direct", stdin=subprocess.DEVNULL)
            assert said == "direct\n"
        tunnel.kill()


def test_only_its_owner_has_the_key_and_nobody_gets_in_without_it(cluster, shell, det, tmp_path):
    mine = cluster.get(f"shells/{shell}")["shell"]
    assert "PRIVATE KEY" in mine["privateKey"] and mine["publicKey"].startswith("ssh-ed25519 ")
    admin = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/shells/{shell}", headers={"Authorization": f"Bearer {admin}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "privateKey" not in json.load(answer)["shell"]
    assert all("privateKey" not in listed for listed in cluster.get("shells")["shells"])
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other")
    options, host = without_terminal(ssh_words(det("shell", "show-ssh-command", shell)))
    options[options.index("-i") + 1] = str(tmp_path / "other")
    run("ssh", *options, "-o", "BatchMode=yes", host, "true", code=255, stdin=subprocess.DEVNULL)
    user = host.partition("@")[0]
    assert f"for {user} from" in log_of(cluster, shell), "each login is in the task's log"


def test_a_shell_that_is_used_is_not_idle(cluster, det):
    config = {"config": {"resources": {"slots": 0}, "idle_timeout": "5s"}}
    shell = cluster.get("shells", "POST", config)["shell"]["id"]
    wait_until_ready(cluster, shell)
    assert det("shell", "open", shell, "--command", "sleep 12; echo still there") == "still there\n"
    wait_until(
        lambda: cluster.get(f"shells/{shell}")["shell"]["state"] == "STATE_TERMINATED", "its end", PATIENCE, pause=0.5
    )
    assert "idle" in cluster.get(f"shells/{shell}")["shell"]["exitStatus"]


def test_a_killed_shell_leaves_no_process(cluster, det):
    shell = cluster.get("shells", "POST", FREE)["shell"]["id"]
    wait_until_ready(cluster, shell)
    det("shell", "open", shell, "--command", f"nohup sleep 5432 {shell} >/dev/null 2>&1 & sleep 0.5")
    assert processes_of(shell)
    cluster.get(f"shells/{shell}/kill", "POST", {})
    wait_until(lambda: not processes_of(shell), "the end of its processes", PATIENCE, pause=0.2)


def processes_of(shell):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"DET_TASK_ID={shell}".encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.fixture
def as_original(cluster, tmp_path):
    """The environment of the original's client."""
    ours = {key: value for key, value in cluster.environment.items() if key != "PYTHONPATH"}
    theirs = {"DET_MASTER": cluster.url, "DET_USER": "determined", "DET_PASS": "", "TERM": "xterm"}
    return ours | theirs | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def original(as_original, original_client):
    """Runs the original's client; what it prints."""

    def run(*words, code=0, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run(
            [original_client / "det", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=as_original,
            timeout=PATIENCE,
            **how,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    return run


def test_the_originals_client_starts_a_shell_and_runs_a_command_in_it(original):
    said = original("shell", "start", "--config", "resources.slots=0", "--", "echo in $DET_TASK_TYPE; tty")
    assert "in SHELL" in said and "/dev/pts/" in said
    shell = re.search(r"det shell open (\S+)", re.sub(r"\x1b\[\d+m", "", said)).group(1)
    assert "again" in original("shell", "open", shell, "--", "echo again")
    original("shell", "kill", shell)


def test_the_originals_client_opens_a_terminal(shell, as_original, original_client):
    ours, theirs = pty.openpty()
    client = subprocess.Popen(
        [original_client / "det", "shell", "open", shell],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=as_original,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, b'echo "type: $DET_TASK_TYPE"; exit\n')
    seen = b""
    while b"To reconnect" not in seen:
        seen += os.read(ours, 4096)
    assert b"type: SHELL" in seen
    client.wait(60)
    os.close(ours)


def test_the_originals_ssh_command_copies_files(shell, original, tmp_path):
    options, host = without_terminal(ssh_words(original("shell", "show_ssh_command", shell)))
    assert copies_files(options, host, tmp_path)
