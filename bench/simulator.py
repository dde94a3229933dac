"""How many seeds per second does the simulator run?

A seed is one life of a cluster: `det_simulation_test` (tests/simulation) runs master, agents, trials and storage in one
process, injects faults and checks every invariant. It runs first in one process, then in one process per core.

Usage: python bench/simulator.py [seeds per process, default 4000]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

from platform_under_test import ROOT, circumstances

PARTS = 4
"""The test divides its seeds into this many parts."""


def program() -> pathlib.Path:
    found = sorted((ROOT / "build" / "release").rglob("det_simulation_test"))
    if not found:
        sys.exit("found no det_simulation_test: run `ninja -C build/release det_simulation_test`")
    return found[0]


def play(seeds: int, processes: int) -> tuple[float, float]:
    """Wall time and processor time of a run, in seconds."""
    environment = os.environ | {"DET_SEEDS": str(seeds * PARTS)}  # each part plays its share
    begin, before = time.monotonic(), os.times()
    running = [
        subprocess.Popen(
            [program(), f"--gtest_filter=Part/Simulation.NoSeedBreaksAnInvariant/{part}"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for part in range(processes)
    ]  # fmt: skip
    for process in running:
        text, _ = process.communicate()
        if process.returncode != 0 or "PASSED  ] 1 test" not in text:
            sys.exit(f"the simulation failed:\n{text[-3000:]}")
    after = os.times()
    return time.monotonic() - begin, after.children_user - before.children_user


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    for processes in (1, min(os.cpu_count() or 1, PARTS)):
        seconds, work = play(seeds, processes)
        played = seeds * processes
        print(
            f"{processes} process{'es' if processes > 1 else ''}: {played} seeds in {seconds:.1f} s, "
            f"{played / seconds:.0f} per second, {played / work:.0f} per second of processor time",
            flush=True,
        )
    print(f"simulator.py {seeds}; {circumstances()}")


if __name__ == "__main__":
    main()
