"""Starting, asking, killing and restarting the processes of one cluster."""

import contextlib
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).parent
BINARY = os.environ.get("DET_BINARY", str(REPOSITORY / "build" / "dev" / "bin" / "det"))
PYTHON = os.environ.get("DET_TEST_PYTHON", str(REPOSITORY / ".venv" / "bin" / "python"))
PATIENCE = 90.0  # for what must happen; only a failing test waits this long
SELDOM = 0.1  # a question costs some milliseconds of a processor that the answer needs


def wait_until(condition, what, seconds=PATIENCE, pause=0.02):
    """The first true value of ``condition()``, which is asked more seldom the longer it takes."""
    began = time.monotonic()
    limit = began + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > limit:
            raise AssertionError(f"after {seconds} s: not yet {what}")
        time.sleep(max(pause, min(SELDOM, (time.monotonic() - began) / 20)))


def kill_process(pid):
    """`kill -9` of one process: never of a whole group, which is what 0 and negative numbers mean."""
    assert pid > 1, f"{pid} is no process"
    os.kill(pid, signal.SIGKILL)


class Server:
    """One process of ours that serves, with its output in a file."""

    def __init__(self, arguments, log, environment, within=()):
        self.log = log
        self.offset = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*within, BINARY, *arguments], stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment
            )

    def output(self):
        return self.log.read_bytes()[self.offset :].decode(errors="replace")

    def wait_for(self, pattern):
        def found():
            match = re.search(pattern, self.output())
            if match is None and self.process.poll() is not None:
                raise AssertionError(f"{self.process.args} ended with {self.process.returncode}:\n{self.output()}")
            return match

        return wait_until(found, f"{pattern!r} in the output of {self.process.args}")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """`det up`, or a master and an agent apart, in ``directory``; with ``trust``, a file of certificates, over TLS.

    A paused trial's process ends at once, so that what goes on comes from a checkpoint; ``waiting``: it waits, as
    it does where nothing else is said. ``own_worker``: the agent's warm worker imports PyTorch itself.
    """

    python = PYTHON  # what agents get as --python; warm_zygote.py

    def __init__(self, directory, apart=False, options=(), trust=None, waiting=False, own_worker=False):
        if own_worker:
            self.python = PYTHON
        self.directory = directory
        self.scheme = "https" if trust else "http"
        self.context = ssl.create_default_context(cafile=trust) if trust else None
        self.apart = apart
        self.options = [*options, *([] if waiting else ["--idle-seconds", "0"])]
        self.agent_directory = directory / "agent"
        self.port = 0
        self.addresses = ""  # of several masters, where there is more than that of this port
        self.master = self.agent = None
        self.token = ""
        directory.mkdir(parents=True, exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET")}
        self.environment = kept | {"XDG_CONFIG_HOME": str(directory / "config"), "NO_COLOR": "1"}
        if trust:
            self.environment["DET_MASTER_CERT_FILE"] = str(trust)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self):
        self.start_master()
        self.start_agent()
        return self

    def start_master(self):
        word = "master" if self.apart else "up"
        arguments = [word, "--dir", str(self.directory), "--port", str(self.port), *self.options]
        if not self.apart:
            arguments += ["--python", self.python, "--python-path", str(REPOSITORY / "python")]
        self.master = Server(arguments, self.directory / "master.out", self.environment)
        self.port = int(self.master.wait_for(r"ready(?:\.\n.*?|: )https?://[\w.-]+:(\d+)/det/").group(1))

    def start_agent(self, *options):
        if self.apart:
            self.agent = self.launch_agent(self.agent_directory, *options)

    def launch_agent(self, directory, *options):
        arguments = [
            "agent",
            "--master",
            self.addresses or self.url,
            "--token-file",
            str(self.directory / "agent.token"),
            *options,
        ]
        arguments += [
            "--dir",
            str(directory),
            "--python",
            self.python,
            "--python-path",
            str(REPOSITORY / "python"),
        ]
        agent = Server(arguments, self.directory / f"{directory.name}.out", self.environment)
        agent.wait_for("is connected")
        return agent

    def run(self, *arguments, directory=None, master=True, environment=None, code=0):
        """What `det ARGUMENTS` prints; it must end with ``code`` (None: any)."""
        words = [BINARY, *(["-m", self.addresses or self.url] if master else []), *map(str, arguments)]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            cwd=directory,
            env=self.environment | (environment or {}),
            timeout=PATIENCE,
        )
        text = done.stdout + done.stderr
        if code is not None and done.returncode != code:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}, not {code}:\n{text}")
        return text

    def get(self, path, method="GET", body=None):
        """The answer of the API: a value, or a list of values where it streams."""
        if not self.token:
            self.token = "-"
            self.token = self.get("auth/login", "POST", {"username": "determined", "password": ""})["token"]
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE, context=self.context) as answer:
            text = answer.read().decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return [json.loads(line) for line in text.splitlines()]

    def text(self, path):
        """What a page outside the API says."""
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE, context=self.context) as page:
            return page.read().decode()

    def create(self, directory, *options, config="const.yaml"):
        """Submits a model definition; its id."""
        text = self.run("experiment", "create", config, ".", *options, directory=directory)
        return int(re.search(r"Created experiment (\d+)", text).group(1))

    def experiment(self, id):
        return self.get(f"experiments/{id}")["experiment"]

    def trial_of(self, id):
        """The experiment's trial, once it has one."""
        return wait_until(lambda: self.get(f"experiments/{id}/trials")["trials"], f"a trial of {id}")[0]

    def wait_for_state(self, id, *states, seconds=PATIENCE):
        """Waits through restarts of the master, too."""

        def there():
            state = self.experiment(id)["state"].removeprefix("STATE_")
            if state in ("ERROR", "COMPLETED", "CANCELED") and state not in states:
                raise AssertionError(f"experiment {id} is {state}, not {states}:\n{self.log_text(id)[-3000:]}")
            return state if state in states else None

        return wait_until(there, f"experiment {id} in {states}", seconds, pause=0.1)

    def metrics(self, trial, group):
        """Rows (batches, metrics) in the order of the API, batch metrics included."""
        answers = self.get(f"trials/metrics/{group}_metrics?trialIds={trial}")
        answers = answers if isinstance(answers, list) else [answers]
        rows = [row for answer in answers for row in answer["result"]["metrics"]]
        return [(row["totalBatches"], row["metrics"]) for row in rows]

    def log_lines(self, trial):
        answers = self.get(f"trials/{trial}/logs")
        answers = answers if isinstance(answers, list) else [answers]
        return [answer["result"] for answer in answers]

    def log_text(self, experiment):
        return "".join(line["log"] for line in self.log_lines(self.trial_of(experiment)["id"]))

    def shims(self, allocations="*"):
        """What the shims of running tasks wrote of themselves; ``allocations``: a pattern of their names."""
        return self.shims_in(self.agent_directory, allocations)

    @staticmethod
    def shims_in(directory, allocations="*"):
        found = []
        while True:
            try:
                files = list(directory.glob(f"tasks/{allocations}/*/shim.json"))
                break
            except FileNotFoundError:  # a task that has ended was deleted meanwhile
                continue
        for file in files:
            try:
                shim = json.loads(file.read_text())
                running = pathlib.Path(f"/proc/{shim['pid']}/stat").read_text().rpartition(") ")[2].split()
            except (OSError, ValueError):
                continue
            ended = (file.parent / "exit.json").exists() or running[0] == "Z"
            if int(running[19]) == shim["startTime"] and not ended:
                found.append(shim)
        return found

    def end(self):
        for server in (self.agent, self.master):
            if server is not None:
                server.kill()
        for shim in self.shims():
            with contextlib.suppress(ProcessLookupError):
                kill_process(shim["pid"])
