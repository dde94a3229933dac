"""Ports of tasks and trials are reached through the master: HTTP and TCP, by our client and by the original's."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import textwrap
import urllib.error
import urllib.request

import pytest
from cluster import BINARY, HERE, Cluster, wait_until
from ports import free_ports

SERVICES = """
    import http.server, socketserver, sys, threading

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = f"{self.path} {self.headers['X-Forwarded-Prefix']} {self.headers['Authorization']}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    class Echo(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                self.wfile.write(line.rstrip()[::-1])

    pages, echo = int(sys.argv[1]), int(sys.argv[2])
    server = socketserver.ThreadingTCPServer(("127.0.0.1", echo), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("serving", flush=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", pages), Pages).serve_forever()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("ports") / "cluster").start()
    it.get("me")
    yield it
    it.end()


def log_of(cluster, task):
    lines = cluster.get(f"tasks/{task}/logs")
    return "".join((line.get("result") or line)["log"] for line in (lines if isinstance(lines, list) else [lines]))


def proxy_ports(pages, echo, unauthenticated=False):
    return [
        {"proxy_port": pages, "unauthenticated": unauthenticated},
        {"proxy_port": echo, "proxy_tcp": True, "unauthenticated": unauthenticated},
    ]


@pytest.fixture
def command(cluster):
    """Starts a command with both services; its ID and the ports."""
    started = []

    def start(idle_timeout=None, **how):
        pages, echo = free_ports(2)
        config = {
            "entrypoint": ["python", "-c", textwrap.dedent(SERVICES), str(pages), str(echo)],
            "resources": {"slots": 0},
            "environment": {"proxy_ports": proxy_ports(pages, echo, **how)},
        }
        if idle_timeout:
            config["idle_timeout"] = idle_timeout
        task = cluster.get("commands", "POST", {"config": config})["command"]["id"]
        started.append(task)
        wait_until(lambda: "serving" in log_of(cluster, task), "the services", pause=0.2)
        return task, pages, echo

    yield start
    for task in started:
        cluster.get(f"commands/{task}/kill", "POST", {})


def page(cluster, path, token=None, method="GET"):
    """The status and the text of a page."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{cluster.url}/proxy/{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_pages_of_a_port_are_served_without_the_prefix_to_their_owner(cluster, command):
    task, pages, echo = command()
    place = f"{task}:{pages}"
    assert page(cluster, f"{place}/a/b?c=d", cluster.token) == (200, f"/a/b?c=d /proxy/{place}/ None")
    assert page(cluster, f"{place}/", cluster.token)[1].startswith("/ ")
    assert page(cluster, f"{place}/")[0] == 401
    cluster.run("user", "create", "ann", environment={"DET_USER": "admin", "DET_PASS": ""})
    ann = cluster.get("auth/login", "POST", {"username": "ann", "password": ""})["token"]
    status, why = page(cluster, f"{place}/", ann)
    assert status == 403 and "another user" in why
    status, why = page(cluster, f"{task}:{echo + 1}/", cluster.token)
    assert status == 404 and "proxy_ports" in why
    status, why = page(cluster, f"{task}:{echo}/", cluster.token)
    assert status == 426 and f"det tunnel {task}:{echo}" in why
    listed = cluster.get("tasks")["allocationIdToSummary"].values()
    shown = next(one["proxyPorts"] for one in listed if one["taskId"] == task)
    assert [one["port"] for one in shown] == [pages, echo]


def test_a_port_is_open_to_all_only_where_its_task_says_so(cluster, command):
    task, pages, _ = command(unauthenticated=True)
    assert page(cluster, f"{task}:{pages}/x") == (200, f"/x /proxy/{task}:{pages}/ None")


def echoed(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        link.sendall(b"abc" * 100_000)
        link.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: link.recv(65536), b"")) == b"cba" * 100_000


@contextlib.contextmanager
def running(*words, **how):
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


def test_a_tcp_port_is_reached_by_our_tunnel(cluster, command):
    task, _, echo = command()
    (here,) = free_ports(1)
    with running(BINARY, "-m", cluster.url, "tunnel", task, "--listener", f"{here}:{echo}", env=cluster.environment):
        wait_until(lambda: is_open(here), "the tunnel", pause=0.1)
        assert echoed(here) and echoed(here)
    piped = subprocess.run(
        [BINARY, "-m", cluster.url, "tunnel", f"{task}:{echo}"],
        input=b"piped",
        capture_output=True,
        env=cluster.environment,
        timeout=60,
    )
    assert (piped.returncode, piped.stdout) == (0, b"depip")
    assert "proxy_ports" in cluster.run("tunnel", f"{task}:{echo + 1}", code=1)


def test_a_command_is_idle_when_nobody_uses_its_ports(cluster, command):
    def state(task):
        return cluster.get(f"commands/{task}")["command"]["state"]

    unused, _, _ = command(idle_timeout="4s")
    called, pages, _ = command(idle_timeout="4s")
    connected, _, echo = command(idle_timeout="4s")
    (here,) = free_ports(1)
    words = [BINARY, "-m", cluster.url, "tunnel", connected, "--listener", f"{here}:{echo}"]
    with running(*words, env=cluster.environment):
        wait_until(lambda: is_open(here), "the tunnel", pause=0.1)
        with socket.create_connection(("127.0.0.1", here)):

            def unused_is_over():
                assert page(cluster, f"{called}:{pages}/", cluster.token)[0] == 200
                return state(unused) == "STATE_TERMINATED"

            wait_until(unused_is_over, "the end of what nobody uses", pause=0.5)
            late, _, _ = command(idle_timeout="4s")  # whose end comes a whole timeout after that of the first
            wait_until(lambda: unused_is_over() and state(late) == "STATE_TERMINATED", "its end", pause=0.5)
            assert state(called) == state(connected) == "STATE_RUNNING"
    for task in (called, connected):
        wait_until(lambda task=task: state(task) == "STATE_TERMINATED", "the end of what nobody uses any more")
        assert cluster.get(f"commands/{task}")["command"]["exitStatus"] == "idle for more than 4s"


def as_original(cluster):
    ours = {key: value for key, value in cluster.environment.items() if key != "PYTHONPATH"}
    return ours | {"DET_MASTER": cluster.url, "DET_USER": "determined", "DET_PASS": "", "PYTHONUNBUFFERED": "1"}


def test_a_tcp_port_is_reached_by_the_originals_tunnel(cluster, command, original_client):
    for unauthenticated in (False, True):
        task, _, echo = command(unauthenticated=unauthenticated)
        (here,) = free_ports(1)
        words = [original_client / "python", "-m", "determined.cli.tunnel", cluster.url, f"{task}:{echo}"]
        words += ["--listener", here, *(["-u", "determined", "--auth"] if not unauthenticated else [])]
        with running(*words, env=as_original(cluster)):
            wait_until(lambda port=here: is_open(port), "the tunnel", pause=0.1)
            assert answered(here)


def answered(port):
    """As ``echoed``, through a tunnel that is over when the client has said its last word."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        link.sendall(b"abc\n")
        return link.recv(10) == b"cba"


@pytest.mark.parametrize("whose", ["our", "the original's"])
def test_a_port_of_a_trial_is_published_while_it_is_followed(cluster, original_client, tmp_path, whose):
    pages, echo = free_ports(2)
    (here,) = free_ports(1)
    (tmp_path / "serve.py").write_text(textwrap.dedent(SERVICES))
    config = {
        "name": f"ports of {whose} client",
        "entrypoint": f"python serve.py {pages} {echo}",
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
        "environment": {"proxy_ports": proxy_ports(pages, echo)},
        "max_restarts": 0,
    }
    (tmp_path / "ports.yaml").write_text(json.dumps(config))
    program = [BINARY, "-m", cluster.url] if whose == "our" else [original_client / "det"]
    words = [*program, "experiment", "create", "ports.yaml", ".", "-f", "-p", f"{here}:{echo}"]
    with running(*words, cwd=tmp_path, env=cluster.environment if whose == "our" else as_original(cluster)):

        def created():
            return [one for one in cluster.get("experiments")["experiments"] if one["name"] == config["name"]]

        (experiment,) = wait_until(created, "the experiment")
        trial = cluster.trial_of(experiment["id"])
        wait_until(lambda: "serving" in log_of(cluster, trial["taskId"]), "the services", pause=0.2)
        wait_until(lambda: is_open(here), "the tunnel", pause=0.1)
        assert answered(here)
        assert page(cluster, f"{trial['taskId']}:{pages}/x", cluster.token)[0] == 200
    cluster.get(f"experiments/{experiment['id']}/kill", "POST", {})


def test_the_originals_client_sees_tasks_become_ready_and_kills_them(cluster, original_client):
    experiment = cluster.create(HERE / "models" / "noisy")
    cluster.wait_for_state(experiment, "COMPLETED")

    def det(*words):
        done = subprocess.run(
            [original_client / "det", *map(str, words)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=as_original(cluster),
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    board = re.search(r"/interactive/([\w-]+)/", det("tensorboard", "start", experiment, "--no-browser")).group(1)
    assert re.search(r"TensorBoard .* at", log_of(cluster, board))
    assert board in det("tensorboard", "kill", board)
    notebook = re.search(
        r"/interactive/([\w-]+)/", det("notebook", "start", "--config", "resources.slots=0", "--no-browser")
    )
    assert re.search(r"Jupyter Server .* is running at", log_of(cluster, notebook.group(1)))
    det("notebook", "kill", notebook.group(1))
    for kind, task in (("tensorboard", board), ("notebook", notebook.group(1))):
        wait_until(
            lambda kind=kind, task=task: cluster.get(f"{kind}s/{task}")[kind]["state"] == "STATE_TERMINATED",
            f"the end of the {kind}",
        )
