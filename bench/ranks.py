"""How fast is a trial on two slots, compared with a bare DistributedDataParallel loop under `torchrun`?

The tutorial's CNN, 32 records per slot, one thread per process, data in memory; the trial in Python and in C++. They
take turns, each in processes of its own. A batch is timed by the wall clock between batches 50 and 250, so start-up
does not count; the whole command is timed as well.

Usage: python bench/ranks.py [rounds, default 5]
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from platform_under_test import ROOT, Platform, circumstances, platform

MODEL = ROOT / "bench" / "models" / "ranks"
IN_CXX = ROOT / "bench" / "models" / "ranks_cxx"
FIRST, LAST = 50, 250


def bare(place: pathlib.Path) -> tuple[float, float]:
    """Seconds per batch, and of the whole command."""
    times = place / "bare"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "bare.py"]
    began = time.monotonic()
    subprocess.run(
        [*command, str(times), str(FIRST), str(LAST)],
        cwd=MODEL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
    )
    return float(times.read_text()), time.monotonic() - began


def ours(server: Platform, place: pathlib.Path, model: pathlib.Path = MODEL) -> tuple[float, float]:
    """Seconds per batch, and from submission to the end of the experiment."""
    times = place / "ours"
    config = f"{{times: {times}, first: {FIRST}, last: {LAST}}}"
    began = time.monotonic()
    experiment = server.submit(model, data=config)
    if (state := server.wait_until_over(experiment)) != "COMPLETED":
        raise RuntimeError(f"experiment {experiment} is {state}")
    return float(times.read_text()), time.monotonic() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as directory, platform("--slots", "2") as server:
        place = pathlib.Path(directory)
        ours(server, place)  # also waits for a warm worker
        ours(server, place, IN_CXX)  # also compiles the trial
        found = [(ours(server, place), ours(server, place, IN_CXX), bare(place)) for _ in range(rounds)]
    for number, name in enumerate(("trial", "trial in C++", "torchrun")):
        batch = statistics.median(runs[number][0] for runs in found) * 1e3
        whole = statistics.median(runs[number][1] for runs in found)
        print(f"{name}: median {batch:.2f} ms per batch; {whole:.1f} s from command to end")
    for number, name in enumerate(("trial", "trial in C++")):
        ratio = statistics.median(runs[number][0] / runs[2][0] for runs in found)
        print(f"{name} / torchrun: {ratio:.3f} (median of {rounds} rounds)")
    print(f"ranks.py {rounds}; {circumstances()}")


if __name__ == "__main__":
    main()
