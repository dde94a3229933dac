"""Notebooks, shells and TensorBoards through the master's proxy, with the real programs behind it."""

import fcntl
import hashlib
import http.client
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from cluster import BINARY, HERE, Cluster, wait_until
from websocket_client import WebSocket

PATIENCE = 600.0  # the first of all builds an environment


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("interactive") / "cluster", options=["--slots", "2"]).start()
    it.get("me")
    yield it
    it.end()


def task_log(cluster, task):
    lines = cluster.get(f"tasks/{task}/logs")
    return "".join((line.get("result") or line)["log"] for line in (lines if isinstance(lines, list) else [lines]))


def start(cluster, kind, **wanted):
    """Starts a task; its id once it is ready."""
    wanted.setdefault("config", {"resources": {"slots": 0}} if kind != "tensorboard" else {})
    task = cluster.get(f"{kind}s", "POST", wanted)[kind]["id"]
    wait_until_ready(cluster, task)
    return task


def wait_until_ready(cluster, task):
    def ready():
        allocations = cluster.get(f"tasks/{task}")["task"]["allocations"]
        if allocations and allocations[0].get("endTime"):
            raise AssertionError(f"task {task} ended:\n{task_log(cluster, task)}")
        return allocations and allocations[0].get("isReady")

    wait_until(ready, f"task {task} ready", PATIENCE, pause=0.1)


def end(cluster, kind, task):
    cluster.get(f"{kind}s/{task}/kill", "POST", {})
    wait_until(lambda: status(cluster, task) == 404, f"the end of task {task}")


def ask(cluster, task, path="", method="GET", body=None, **headers):
    """What the task's service answers through the proxy."""
    request = urllib.request.Request(
        f"{cluster.url}/proxy/{task}/{path}",
        method=method,
        data=body,
        headers={"Authorization": f"Bearer {cluster.token}", **headers},
    )
    return urllib.request.urlopen(request, timeout=60)


def status(cluster, task):
    try:
        return ask(cluster, task).status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_notebook_runs_a_cell_over_its_websocket(cluster):
    task = start(cluster, "notebook")
    assert b"<html" in ask(cluster, task, "lab").read().lower()
    kernel = json.load(ask(cluster, task, "api/kernels", "POST", b"{}"))["id"]
    session = uuid.uuid4().hex
    channel = WebSocket(
        cluster.url,
        f"/proxy/{task}/api/kernels/{kernel}/channels?session_id={session}",
        {"Authorization": f"Bearer {cluster.token}"},
    )
    assert channel.status == 101
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "session": session, "username": ""}
    content = {"code": "print(6 * 7)", "silent": False, "store_history": True, "user_expressions": {}}
    content |= {"allow_stdin": False, "stop_on_error": True}
    message = {"channel": "shell", "header": header | {"version": "5.3"}, "parent_header": {}, "metadata": {}}
    channel.send(message | {"content": content})
    printed = ""
    while "42" not in printed:
        answer = channel.receive()
        assert answer is not None, f"the channel ended after {printed!r}"
        if answer["msg_type"] == "stream":
            printed += answer["content"]["text"]
    channel.close()
    # Without the master nobody gets in, although the port is open to all of the machine.
    port = re.search(r"http://127\.0\.0\.1:(\d+)/", task_log(cluster, task)).group(1)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/proxy/{task}/api/kernels", timeout=30)
    assert refused.value.code == 403
    end(cluster, "notebook", task)


def test_a_tensorboard_shows_the_scalars_of_a_finished_trial(cluster):
    experiment = cluster.create(HERE / "models" / "noisy")
    cluster.wait_for_state(experiment, "COMPLETED")
    trial = cluster.trial_of(experiment)["id"]
    task = start(cluster, "tensorboard", experimentIds=[experiment])
    assert b"<title>TensorBoard" in ask(cluster, task).read()
    run = f"experiment {experiment}, trial {trial}"
    tags = wait_until(
        lambda: json.load(ask(cluster, task, "data/plugin/scalars/tags")).get(run), "the trial in TensorBoard"
    )
    for group, prefix in (("training", ""), ("validation", "val_")):
        rows = cluster.metrics(trial, group)
        inner = {"training": "avg_metrics", "validation": "validation_metrics"}[group]
        name = next(name for name in rows[-1][1][inner] if name == "loss" or name.endswith("loss"))
        tag = f"Determined/{name if name.startswith('val') else prefix + name}"
        assert tag in tags
        query = urllib.parse.urlencode({"run": run, "tag": tag})
        points = json.load(ask(cluster, task, f"data/plugin/scalars/scalars?{query}"))
        shown = [(step, value) for _, step, value in points]
        assert [step for step, _ in shown] == [batches for batches, _ in rows]
        assert [value for _, value in shown] == pytest.approx([m[inner][name] for _, m in rows], rel=1e-6)
    end(cluster, "tensorboard", task)
    kept = next((cluster.directory / "checkpoints").glob(f"*/tensorboard/experiment/{experiment}"))
    cluster.get(f"experiments/{experiment}", "DELETE")
    wait_until(lambda: not kept.exists(), "the event files gone with their experiment")


MEASURED = """
    import time
    import determined as det

    with det.core.init() as context:
        context.profiler.on(sampling_interval=0.1, samples_per_report=2)
        time.sleep(1.5)
        context.profiler.off()
        for operation in context.searcher.operations():
            operation.report_completed(1.0)
"""


@pytest.mark.parametrize("written", [True, False], ids=["written by the trial", "only reported"])
def test_a_tensorboard_shows_what_the_profiler_measured(cluster, tmp_path, written):
    """The harnesses of other versions report it, and write no event files."""
    (tmp_path / "train.py").write_text(textwrap.dedent(MEASURED))
    searcher = {"name": "single", "metric": "loss", "max_length": 1}
    config = {"name": "measured", "entrypoint": "python3 train.py", "searcher": searcher, "max_restarts": 0}
    (tmp_path / "const.yaml").write_text(json.dumps(config))
    experiment = cluster.create(tmp_path)
    cluster.wait_for_state(experiment, "COMPLETED")
    trial = cluster.trial_of(experiment)["id"]
    (file,) = (cluster.directory / "checkpoints").glob(
        f"*/tensorboard/experiment/{experiment}/trial/{trial}/*.profiler"
    )
    run = f"experiment {experiment}, trial {trial}"
    if not written:
        file.unlink()
        run += ", machine"
    task = start(cluster, "tensorboard", experimentIds=[experiment])
    tags = wait_until(
        lambda: json.load(ask(cluster, task, "data/plugin/scalars/tags")).get(run), "the trial in TensorBoard"
    )
    (tag,) = [name for name in tags if name.startswith("System/memory/memory_free/")]
    query = urllib.parse.urlencode({"run": run, "tag": tag})
    points = json.load(ask(cluster, task, f"data/plugin/scalars/scalars?{query}"))
    answers = cluster.get(f"trials/metrics/trial_metrics?trialIds={trial}&group=memory")
    answers = answers if isinstance(answers, list) else [answers]
    rows = [(row["totalBatches"], row["metrics"]) for answer in answers for row in answer["result"]["metrics"]]
    (agent,) = rows[0][1]["avg_metrics"]
    free = [(seconds, measured["avg_metrics"][agent]["memory_free"]) for seconds, measured in rows]
    assert [step for _, step, _ in points] == [seconds for seconds, _ in free]
    assert [value for _, _, value in points] == pytest.approx([value for _, value in free], rel=1e-6)
    end(cluster, "tensorboard", task)


def test_a_shell_reads_standard_input_to_its_end(cluster):
    task = start(cluster, "shell")
    command = [BINARY, "-m", cluster.url, "shell", "open", task]
    done = subprocess.run(
        command,
        input="echo out of $DET_TASK_TYPE; echo err >&2; exit 7\n",
        capture_output=True,
        text=True,
        env=cluster.environment,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "out of SHELL\n", "err\n")
    much = subprocess.run(
        command, input=b"cat\n" + b"x" * 5_000_000, capture_output=True, env=cluster.environment, timeout=60
    )
    assert (much.returncode, len(much.stdout)) == (0, 5_000_000)
    end(cluster, "shell", task)


def test_a_shell_is_a_terminal_that_follows_its_size(cluster):
    task = start(cluster, "shell")
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 81, 0, 0))
    before = termios.tcgetattr(slave)
    client = subprocess.Popen(
        [BINARY, "-m", cluster.url, "shell", "open", task],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=cluster.environment | {"TERM": "xterm"},
        start_new_session=True,
    )
    seen = b""

    def until(text):
        nonlocal seen
        limit = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < limit, seen
            seen += os.read(master, 4096)
        seen = seen.partition(text)[2]

    os.write(master, b"stty size; echo $TERM\n")
    until(b"25 81\r\nxterm")
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    client.send_signal(28)  # SIGWINCH: the terminal is not its controlling one
    os.write(master, b"sleep 0.5; stty size\n")
    until(b"30 100")
    os.write(master, b"sleep 100\n")
    time.sleep(0.5)
    os.write(master, b"\x03")
    os.write(master, b'echo interr""upted; exit 3\n')
    until(b"interrupted")
    assert client.wait(60) == 3
    assert termios.tcgetattr(slave) == before, "the terminal is as it was"
    os.close(slave)
    os.close(master)
    end(cluster, "shell", task)


def test_another_user_may_look_at_a_tensorboard_and_not_use_a_shell(cluster):
    task = start(cluster, "shell")
    cluster.run("user", "create", "eve", environment={"DET_USER": "admin", "DET_PASS": ""})
    eve = cluster.get("auth/login", "POST", {"username": "eve", "password": ""})["token"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(cluster, task, Authorization=f"Bearer {eve}")
    assert refused.value.code == 403
    admin = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    with pytest.raises(urllib.error.HTTPError) as reached:
        ask(cluster, task, Authorization=f"Bearer {admin}")
    assert reached.value.code == 426, "the shell's own answer"
    end(cluster, "shell", task)


SERVICE = """
    import hashlib, http.server, json, os, sys, time, urllib.request

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = sys.argv[1]

        def do_GET(self):
            if self.path.endswith("/events"):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for number in range(3):
                    self.wfile.write(f"data: {number} {time.time()}\\n\\n".encode())
                    time.sleep(0.5)
                self.close_connection = True
            elif self.path.endswith("/large"):
                self.send_response(200)
                self.send_header("Content-Length", str(100 << 20))
                self.end_headers()
                for _ in range(100):
                    self.wfile.write(b"d" * (1 << 20))
            elif self.path.endswith("/cut"):
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"begin")
                self.close_connection = True

        def do_PUT(self):
            digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
            while left:
                data = self.rfile.read(min(left, 1 << 16))
                digest.update(data)
                left -= len(data)
            text = digest.hexdigest().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    task = os.environ["DET_TASK_ID"]
    urllib.request.urlopen(urllib.request.Request(
        f"{os.environ['DET_MASTER']}/api/v1/tasks/{task}/ready",
        data=json.dumps({"port": server.server_address[1]}).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]},
    ))
    print("serving", flush=True)
    server.serve_forever()
"""


def kilobytes(process, name):
    return int(re.search(rf"{name}:\s+(\d+)", (process / "status").read_text()).group(1))


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_a_service_of_the_users_own_is_reached_whole_and_at_once(cluster, version):
    entrypoint = ["python", "-c", textwrap.dedent(SERVICE), version]
    task = cluster.get("commands", "POST", {"config": {"entrypoint": entrypoint, "resources": {"slots": 0}}})
    task = task["command"]["id"]
    wait_until(lambda: "serving" in task_log(cluster, task), "the service", pause=0.2)

    memory = pathlib.Path(f"/proc/{cluster.master.process.pid}")
    (memory / "clear_refs").write_text("5")  # the peak begins anew
    before = kilobytes(memory, "VmRSS")
    data = os.urandom(1 << 20) * 100
    assert ask(cluster, task, "x", "PUT", data).read().decode() == hashlib.sha256(data).hexdigest()
    large = ask(cluster, task, "large")
    assert sum(len(piece) for piece in iter(lambda: large.read(1 << 20), b"")) == 100 << 20
    assert kilobytes(memory, "VmHWM") < before + 40_000, "what passes through is not kept"

    events = ask(cluster, task, "events")
    for number in range(3):
        word, sent = events.readline().split()[1:]
        assert int(word) == number and time.time() - float(sent) < 0.4, "each comes when it is sent"
        events.readline()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        ask(cluster, task, "cut").read()
    end(cluster, "command", task)
