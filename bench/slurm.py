"""How long does a trial wait for a machine of Slurm, and what does a search of short trials cost its controller?

Starts a Slurm of four nodes (tests/e2e/elastic/slurm.py; root only). A search of short trials is compared with one
`sbatch` array of the same number of tasks, each of which starts Python and trains a model as long without a platform,
and with submitit and dask-jobqueue where ``--peers`` names a directory that has them. All of them may use eight
processors of Slurm at once. They take turns; a ratio is that of one turn, and the median over the turns is shown.

    pip install --target ~/.cache/det-bench/slurm submitit dask-jobqueue
    python bench/slurm.py [--trials 100] [--rounds 3] [--peers ~/.cache/det-bench/slurm] [--without submitit]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "e2e"), str(HERE.parent / "tests" / "e2e" / "elastic")]

from cluster import PYTHON, wait_until  # noqa: E402
from engine_pool import NOISY  # noqa: E402
from slurm import Slurm  # noqa: E402
from slurm_peers import BATCHES, WORKERS  # noqa: E402
from slurm_pool import SlurmCluster  # noqa: E402

SCRIPT = f"{PYTHON} -c 'import sys; sys.path.insert(0, \"{HERE}\"); import slurm_peers; slurm_peers.train(1)'"


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
    searcher = (
        f"searcher={{name: random, metric: validation_loss, max_trials: {trials}, "
        f"max_concurrent_trials: {WORKERS}, max_length: {{batches: {BATCHES}}}}}"
    )
    id = cluster.create(NOISY, "--config", searcher, "--config", "hyperparameters.seconds_per_batch=0.0")
    cluster.wait_for_state(id, "COMPLETED", seconds=3600)
    return time.monotonic() - began


def array(slurm, trials):
    began = time.monotonic()
    job = slurm.submit(SCRIPT, f"--array=1-{trials}", "--cpus-per-task=1")
    wait_until(lambda: str(job) not in slurm.run("squeue", "-h", "-o", "%F").stdout.split(), "the array", seconds=3600)
    return time.monotonic() - began


def peer(slurm, name, trials, path):
    with tempfile.TemporaryDirectory() as directory:
        words = [PYTHON, str(HERE / "slurm_peers.py"), name, str(trials), directory]
        environment = slurm.environment() | {"PYTHONPATH": path}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=3600, check=False)
        assert done.returncode == 0, done.stderr
        time.sleep(3)  # its jobs leave
        return float(done.stdout.split()[-1])


def measure(slurm, contenders, rounds):
    spent = {name: [] for name in contenders}
    calls = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            since = time.time()
            spent[name].append(run())
            made = [words for _, words in slurm.calls(since) if not words.startswith("srun")]
            calls[name].append(len(made) * 60 / (time.time() - since))
            print(f"  {name}: {spent[name][-1]:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    for name in contenders:
        ratio = statistics.median(other / ours for other, ours in zip(spent[name], spent["det"], strict=True))
        print(
            f"{name}: median {statistics.median(spent[name]):.1f} s, {statistics.median(calls[name]):.0f} calls a "
            f"minute of Slurm; its time over ours {ratio:.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", help="a directory with submitit and dask-jobqueue")
    parser.add_argument("--without", nargs="*", default=[], help="names that take no turn, such as submitit")
    options = parser.parse_args()
    trials = options.trials
    with Slurm() as slurm, tempfile.TemporaryDirectory() as directory:
        cluster = SlurmCluster(pathlib.Path(directory), slurm, idle_timeout="3s", cpus_per_node=2).start()
        try:
            empty, warm = [], []
            for _ in range(3):
                empty.append(first_metric(cluster))
                warm.append(first_metric(cluster))
                cluster.wait_for_no_allotment()
            print(f"submit to first metric, no machine there: {statistics.median(empty):.2f} s {empty}")
            print(f"submit to first metric, a machine there:  {statistics.median(warm):.2f} s {warm}")

            def ours():
                spent = search(cluster, trials)
                cluster.wait_for_no_allotment()
                return spent

            contenders = {"det": ours, "sbatch array": lambda: array(slurm, trials)}
            if options.peers:
                for name in ("submitit", "dask"):
                    contenders[name] = lambda name=name: peer(slurm, name, trials, options.peers)
            contenders = {name: run for name, run in contenders.items() if name not in options.without}
            print(f"{trials} trials of {BATCHES} batches:")
            measure(slurm, contenders, options.rounds)
        finally:
            for job in slurm.jobs().values():
                slurm.cancel(job.id)
            cluster.end()


if __name__ == "__main__":
    main()
