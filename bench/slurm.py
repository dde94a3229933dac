"""How long does a trial wait for a machine of Slurm, and what does a search of short trials cost its controller?

    bench/slurm.py [trials]

Starts a Slurm of four nodes (tests/e2e/elastic/slurm.py; root only). Compares with one `sbatch` array of the same
number of tasks, each of which starts Python and trains the same model as long, without a platform.
"""

import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "e2e"), str(HERE.parent / "tests" / "e2e" / "elastic")]

from cluster import PYTHON, wait_until  # noqa: E402
from slurm import Slurm  # noqa: E402
from slurm_pool import NOISY, SlurmCluster  # noqa: E402

BATCHES = 20
SCRIPT = f"""{PYTHON} - <<'END'
import sys, time
sys.path.insert(0, {str(NOISY)!r})
import torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range({BATCHES}):
    loss = nn.functional.cross_entropy(model(torch.rand(8, 64)), torch.zeros(8, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
END"""


def first_metric(cluster):
    """Seconds from submission to the first report of a trial."""
    began = time.monotonic()
    id = cluster.create(NOISY, "--config", "scheduling_unit=1")
    trial = wait_until(lambda: cluster.trial_of(id), "a trial")["id"]
    wait_until(lambda: cluster.metrics(trial, "training"), "a report", pause=0.01)
    spent = time.monotonic() - began
    cluster.wait_for_state(id, "COMPLETED")
    return spent


def search(cluster, trials):
    began = time.monotonic()
    since = time.time()
    searcher = (
        f"searcher={{name: random, metric: validation_loss, max_trials: {trials}, max_concurrent_trials: 8, "
        f"max_length: {{batches: {BATCHES}}}}}"
    )
    id = cluster.create(NOISY, "--config", searcher, "--config", "hyperparameters.seconds_per_batch=0.0")
    cluster.wait_for_state(id, "COMPLETED", seconds=3600)
    spent = time.monotonic() - began
    calls = [words for _, words in cluster.slurm.calls(since) if not words.startswith("srun")]
    return spent, len(calls) * 60 / spent


def array(slurm, trials):
    began = time.monotonic()
    job = slurm.submit(SCRIPT, f"--array=1-{trials}", "--cpus-per-task=1")
    wait_until(lambda: str(job) not in slurm.run("squeue", "-h", "-o", "%F").stdout.split(), "the array", seconds=3600)
    return time.monotonic() - began


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with Slurm() as slurm, tempfile.TemporaryDirectory() as directory:
        cluster = SlurmCluster(pathlib.Path(directory), slurm, idle_timeout="5s").start()
        try:
            empty = []
            for _ in range(3):
                empty.append(first_metric(cluster))
                warm = first_metric(cluster)
                wait_until(lambda: not cluster.allotments(), "the machine given back")
            print(f"submit to first metric, no machine there: {statistics.median(empty):.2f} s")
            print(f"submit to first metric, a machine there:  {warm:.2f} s")
            ours, calls = search(cluster, trials)
            print(f"{trials} trials of {BATCHES} batches: {ours:.1f} s, {calls:.0f} calls of Slurm a minute")
            theirs = array(slurm, trials)
            print(f"the same as an array of sbatch: {theirs:.1f} s; ratio {theirs / ours:.2f}")
        finally:
            cluster.master.kill()
            for job in slurm.jobs().values():
                slurm.cancel(job.id)


if __name__ == "__main__":
    main()
