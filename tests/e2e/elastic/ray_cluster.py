"""A real Ray cluster on one machine: a head without CPUs and raylets, as processes of the test.

    with RayCluster(raylets=2) as ray:
        ray.python("import ray; ray.init('auto'); ...")

Ray is not in .venv. It has an environment of its own, which is made at the first time and kept: 10 s and 285 MB.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import kept_environment
from cluster import wait_until
from ports import free_ports
from reaped import end_reaped, start_reaped

VERSION = "2.60.0"
STATE = """
import json, sys
from ray._private.state import GlobalState
from ray._raylet import GcsClientOptions

state = GlobalState()
options = GcsClientOptions.create(sys.argv[1], None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=True)
state._initialize_global_state(options)
found = state.actor_table(None, None, None).values() if sys.argv[2] == "actors" else state.node_table()
print(json.dumps(list(found), default=str))
"""
# A lost raylet is seen after 2 s and not after 15 s; raylets without a head end after 5 s and not after 60 s.
QUICK = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
}


class RayCluster:
    """Raylets are called raylet1, raylet2, …, and the head `head`."""

    def __init__(self, raylets=2, cpus=2, gpus=2):
        self.names = [f"raylet{number}" for number in range(1, raylets + 1)]
        self.cpus, self.gpus = cpus, gpus
        self.root = None
        self.processes = {}  # by name: reaper.py above `ray start --block`

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def up(self):
        self.programs = kept_environment.install(f"ray-{VERSION}", f"ray=={VERSION}")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ray."))  # short: sockets are in there
        (self.port,) = free_ports(1)
        try:
            self.start_head()
            for name in self.names:
                self.start_raylet(name)
            self.wait_for_nodes("head", *self.names)
        except BaseException:
            self.down()
            raise
        return self

    def down(self):
        """Ends every process, those of actors too, and removes the directory."""
        for name in list(self.processes):
            self._end(name)
        if self.root:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root = None

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def environment(self):
        """For programs that use Ray: its programs are on the PATH, and the address `auto` means this cluster."""
        # Whoever has used Ray by himself has a token in ~/.ray, which some of its programs would then ask for.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "DET", "VIRTUAL_ENV", "PYTHON"))}
        mine = {
            "RAY_ADDRESS": self.address,
            "RAY_TMPDIR": str(self.root),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "disabled",
        }
        return kept | mine | QUICK | {"PATH": f"{self.programs}:{os.environ['PATH']}"}

    def python(self, program, *words):
        """What a Python program prints that runs in Ray's environment."""
        command = [self.programs / "python", "-c", program, *map(str, words)]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def actors(self):
        """All actors, dead ones too, in Ray's words: Name, State, Pid, NumRestarts, Address…"""
        return json.loads(self.python(STATE, self.address, "actors"))

    def nodes(self):
        """By name: whether the head believes that it lives."""
        table = self._node_table()
        return {
            name: any(n["Alive"] for n in table if n["NodeName"] == name) for name in {n["NodeName"] for n in table}
        }

    def node_of(self, actor):
        """The name of the raylet that an actor of actors() is on."""
        names = {node["NodeID"]: node["NodeName"] for node in self._node_table()}
        return names.get(actor["Address"]["NodeID"])

    def wait_for_nodes(self, *names):
        """Waits until these live and no others."""

        def there():
            with contextlib.suppress(AssertionError):
                return {name for name, alive in self.nodes().items() if alive} == set(names)

        wait_until(there, f"alive: {names}")

    def log(self, name):
        path = self.root / f"{name}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    # What happens to a cluster.

    def start_head(self):
        """A head knows nothing of a head before it."""
        self._start(
            "head", "--head", f"--port={self.port}", "--num-cpus=0", "--num-gpus=0", "--include-dashboard=false"
        )

    def start_raylet(self, name, cpus=None, gpus=None):
        cpus, gpus = self.cpus if cpus is None else cpus, self.gpus if gpus is None else gpus
        self._start(name, f"--address={self.address}", f"--num-cpus={cpus}", f"--num-gpus={gpus}")

    def kill_raylet(self, name):
        """The machine is gone: its raylet, its workers and what they started."""
        self._end(name)

    def kill_head(self):
        """The machine of the head is gone; raylets end by themselves after 5 s, and their actors with them."""
        self._end("head")

    def _start(self, name, *words):
        assert name not in self.processes or self.processes[name].poll() is not None, f"{name} runs already"
        options = [
            "--block",
            "--disable-usage-stats",
            "--node-ip-address=127.0.0.1",
            f"--node-name={name}",
            "--object-store-memory=80000000",
            "--min-worker-port=0",  # any free port
            "--max-worker-port=0",
            "--include-log-monitor=false",
        ]
        if name == "head":
            options.append(f"--temp-dir={self.root}")
        sockets = len(self._sockets())
        self.processes[name] = start_reaped(
            [self.programs / "ray", "start", *options, *words],
            self.root / f"{name}.out",
            env={k: v for k, v in self.environment().items() if k != "RAY_ADDRESS"},
        )
        # Two that start at one moment would take the same name for their sockets.
        self._wait_for(lambda: len(self._sockets()) >= sockets + 2, f"sockets of {name}")

    def _sockets(self):
        return list(self.root.glob("session_[0-9]*/sockets/*"))

    def _wait_for(self, condition, what):
        def there():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended:\n{self.log(name)}"
            return condition()

        wait_until(there, what)

    def _end(self, name):
        end_reaped(self.processes.pop(name))

    def _node_table(self):
        return json.loads(self.python(STATE, self.address, "nodes"))
