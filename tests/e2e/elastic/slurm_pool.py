"""A master whose pool gets its machines from a Slurm of the tests."""

import json
import re
import socket

from cluster import HERE, PYTHON, REPOSITORY, Cluster, wait_until

NOISY = HERE / "models" / "noisy"
RANKS = HERE / "models" / "ranks"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class SlurmCluster(Cluster):
    """`det master` alone: its agents come with the machines. ``provider``: settings of its pool besides these."""

    def __init__(self, directory, slurm, **provider):
        self.file = directory / "master.yaml"
        super().__init__(directory, apart=True, options=["--config-file", str(self.file)])
        self.environment |= {k: v for k, v in slurm.environment().items() if k in ("SLURM_CONF", "PATH")}
        self.slurm, self.port = slurm, free_port()
        self.configure(**provider)

    def configure(self, **provider):
        settings = {
            "type": "slurm",
            "partition": "main",
            "slots_per_node": 2,
            "max_nodes": 4,
            "idle_timeout": "4s",
            "grace_period": "20s",
            "master_url": f"http://127.0.0.1:{self.port}",
            "work_dir": str(self.slurm.root / "output"),
            "agent_options": ["--python", PYTHON, "--python-path", str(REPOSITORY / "python")],
        } | provider
        configuration = {"resource_pools": [{"pool_name": "default", "provider": settings}]}
        self.file.write_text(json.dumps(configuration))  # JSON is YAML

    def start_agent(self, *options):
        pass

    def allotments(self):
        return self.get("allotments")["allotments"]

    def our_jobs(self, *states):
        """Slurm's jobs that this cluster asked for."""
        cluster_id = self.get("master")["clusterId"][:8]
        jobs = [job for job in self.slurm.jobs().values() if job.name.startswith(f"det-{cluster_id}-")]
        return [job for job in jobs if not states or job.state in states]

    def wait_for_allotment(self, *states):
        def there():
            return next((a for a in self.allotments() if not states or a["state"] in states), None)

        return wait_until(there, f"an allotment in {states}")

    def job_of(self, id):
        """Slurm's job on whose machine the experiment's trial runs."""
        trial = wait_until(lambda: self.trial_of(id), "its trial")["id"]
        agent = wait_until(lambda: re.search(r"starts on agent default-(\d+)-", self.log_text_of(trial)), "a machine")
        allotment = next(a for a in self.allotments() if a["id"] == agent.group(1))
        return self.slurm.job(int(allotment["engineId"]))

    def log_text_of(self, trial):
        return "".join(line["log"] for line in self.log_lines(trial))

    def waiting_reason(self, id):
        return self.experiment(id).get("waitingReason", "")

    def wait_for_reason(self, id, pattern):
        return wait_until(lambda: re.search(pattern, self.waiting_reason(id)), f"{pattern!r} in why {id} waits")

    def pilot_logs(self):
        return "\n".join(file.read_text(errors="replace") for file in (self.directory / "allotments").glob("*.log"))
