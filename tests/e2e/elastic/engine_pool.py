"""A master whose pool gets its machines from an engine of the tests, and what its trials come to."""

import contextlib
import json
import os
import pathlib
import re
import signal

from cluster import HERE, PYTHON, REPOSITORY, Cluster, wait_until
from one_slot import weights_hash
from ports import free_ports

NOISY = HERE / "models" / "noisy"
RANKS = HERE / "models" / "ranks"
SLOW = ("--config", "hyperparameters.seconds_per_batch=0.02")


class EngineCluster(Cluster):
    """`det master` alone: its agents come with the machines. ``provider``: the settings of its pool."""

    python = PYTHON  # a worker that other clusters share would end with its machine

    def __init__(self, directory, environment=None, **provider):
        self.file = directory / "master.yaml"
        super().__init__(directory, apart=True, options=["--config-file", str(self.file)])
        self.environment |= environment or {}
        (self.port,) = free_ports(1)
        self.work = directory / "work"
        self.work.mkdir()
        settings = {
            "slots_per_node": 2,
            "max_nodes": 2,
            "idle_timeout": "10s",
            "grace_period": "20s",
            "master_url": f"http://127.0.0.1:{self.port}",
            "work_dir": str(self.work),
            "agent_options": ["--python", self.python, "--python-path", str(REPOSITORY / "python")],
        } | provider
        configuration = {"resource_pools": [{"pool_name": "default", "provider": settings}]}
        self.file.write_text(json.dumps(configuration))  # JSON is YAML

    def start_agent(self, *options):
        pass

    def allotments(self):
        return self.get("allotments")["allotments"]

    def wait_for_no_allotment(self):
        wait_until(lambda: not self.allotments(), "all machines given back")

    def wait_for_reason(self, id, pattern):
        reason = ""

        def found():
            nonlocal reason
            reason = self.experiment(id).get("waitingReason", "")
            return re.search(pattern, reason) and reason

        try:
            return wait_until(found, f"{pattern!r} in why {id} waits")
        except AssertionError as error:
            raise AssertionError(f"{error}, but {reason!r}") from error

    def wait_for_checkpoint(self, id):
        trial = self.trial_of(id)["id"]
        wait_until(lambda: self.get(f"trials/{trial}/checkpoints")["checkpoints"], f"a checkpoint of {id}")

    def result(self, id):
        """The reports of its trial, and its last weights."""
        trial = self.trial_of(id)["id"]
        checkpoints = self.get(f"trials/{trial}/checkpoints")["checkpoints"]
        newest = max(checkpoints, key=lambda c: c["metadata"]["steps_completed"])
        return {
            "training": self.metrics(trial, "training"),
            "validation": self.metrics(trial, "validation"),
            "batches": newest["metadata"]["steps_completed"],
            "weights": weights_hash(self.directory / "checkpoints" / newest["uuid"]),
        }

    def processes(self):
        """The pilots of this cluster, and the tasks below them."""
        return processes_with(str(self.directory))

    def wait_for_no_process(self):
        wait_until(lambda: not self.processes(), "no process left of pilots and trials")

    def shown(self):
        """For whoever looks why a test failed."""
        logs = [file.read_text(errors="replace")[-3000:] for file in (self.directory / "allotments").glob("*.log")]
        return "\n".join([self.master.output()[-4000:], *logs])

    def end(self):
        self.master.kill()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_with(text):
    """Those whose arguments or environment have this text; not the test, and no master."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes()
            everything = words + (file.parent / "environ").read_bytes()
        except OSError:
            continue
        pid = int(file.parent.name)
        if (
            text.encode() in everything
            and b"\0master\0" not in words
            and b"Speaks to a Ray cluster" not in words
            and pid != os.getpid()
        ):
            found.append(pid)
    return found
