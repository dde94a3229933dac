"""Short trainings on a Slurm by submitit or dask-jobqueue; slurm.py runs it with either of them in PYTHONPATH.

    slurm_peers.py submitit|dask TRAININGS DIRECTORY

Prints the seconds from the submission until the last result is there. The client's own start does not count.
"""

import logging
import pathlib
import sys
import time

BATCHES = 20
WORKERS = 8


def train(seed):
    import torch
    from torch import nn

    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = torch.zeros(())
    for _ in range(BATCHES):
        loss = nn.functional.cross_entropy(model(torch.rand(8, 64)), torch.zeros(8, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss)


def submitit(count, directory):
    import submitit

    executor = submitit.AutoExecutor(folder=directory)
    executor.update_parameters(timeout_min=60, cpus_per_task=1, slurm_partition="main", slurm_array_parallelism=WORKERS)
    began = time.monotonic()
    jobs = executor.map_array(train, range(count))
    while not all(job.paths.result_pickle.exists() for job in jobs):  # its own wait() asks more seldom
        time.sleep(0.05)
    return time.monotonic() - began


def dask(count, directory):
    from dask.distributed import Client
    from dask_jobqueue import SLURMCluster

    options = {"queue": "main", "cores": 1, "processes": 1, "memory": "1500MB", "walltime": "01:00:00"}
    began = time.monotonic()
    with SLURMCluster(
        **options, interface="lo", local_directory=directory, log_directory=directory, python=sys.executable
    ) as cluster:
        cluster.scale(jobs=WORKERS)
        with Client(cluster) as client:
            client.gather(client.map(train, range(count), pure=False))
            return time.monotonic() - began


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    pathlib.Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
    print({"submitit": submitit, "dask": dask}[sys.argv[1]](int(sys.argv[2]), sys.argv[3]))
