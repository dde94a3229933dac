"""A master whose pool gets its machines from a Slurm of the tests."""

import contextlib
import re

from cluster import wait_until
from engine_pool import EngineCluster


class SlurmCluster(EngineCluster):
    """``provider``: settings of its pool besides these."""

    def __init__(self, directory, slurm, **provider):
        kept = {k: v for k, v in slurm.environment().items() if k in ("SLURM_CONF", "PATH")}
        settings = {"type": "slurm", "partition": "main", "max_nodes": 4, "idle_timeout": "2s"} | provider
        super().__init__(directory, kept, **settings)
        self.slurm = slurm

    def our_jobs(self, *states):
        """Slurm's jobs that this cluster asked for."""
        cluster_id = self.get("master")["clusterId"][:8]
        jobs = [job for job in self.slurm.jobs().values() if job.name.startswith(f"det-{cluster_id}-")]
        return [job for job in jobs if not states or job.state in states]

    def job_of(self, id):
        """Slurm's job on whose machine the experiment's trial runs."""
        wait_until(lambda: self.trial_of(id), "its trial")
        agent = wait_until(lambda: re.search(r"starts on agent default-(\d+)-", self.log_text(id)), "a machine")
        allotment = next(a for a in self.allotments() if a["id"] == agent.group(1))
        return self.slurm.job(int(allotment["engineId"]))

    def pilot_logs(self):
        return "\n".join(file.read_text(errors="replace") for file in (self.directory / "allotments").glob("*.log"))


ENDED = ("COMPLETED", "CANCELLED", "TIMEOUT", "FAILED", "NODE_FAIL", "PREEMPTED", "COMPLETING")


@contextlib.contextmanager
def cluster_of(slurm, directory, **provider):
    """A SlurmCluster that is started, and leaves no job."""
    cluster = SlurmCluster(directory, slurm, **provider).start()
    try:
        yield cluster
    finally:
        print(cluster.shown())
        for job in cluster.our_jobs():
            if job.state not in ENDED:
                slurm.cancel(job.id)
        cluster.end()
