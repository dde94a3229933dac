"""How many lives of a cluster does the simulator play in a second?

Runs `det_simulation_test` (tests/simulation: master, agents, trials and storage in one process, swarm faults, every
invariant checked) from an own range of seeds, first on one core, then with a process a core.

Usage: python bench/simulator.py [seeds a process, default 4000]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

from platform_under_test import ROOT, circumstances

PARTS = 4
"""The test divides its seeds into so many."""


def program() -> pathlib.Path:
    found = sorted((ROOT / "build" / "release").rglob("det_simulation_test"))
    if not found:
        sys.exit("no det_simulation_test: build it in the release preset")
    return found[0]


def play(seeds: int, processes: int) -> tuple[float, float]:
    """Seconds of the clock and of the processors."""
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
            sys.exit(f"it failed:\n{text[-3000:]}")
    after = os.times()
    return time.monotonic() - begin, after.children_user - before.children_user


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    for processes in (1, min(os.cpu_count() or 1, PARTS)):
        seconds, work = play(seeds, processes)
        played = seeds * processes
        print(
            f"{processes} process{'es' if processes > 1 else ''}: {played} seeds in {seconds:.1f} s, "
            f"{played / seconds:.0f} a second, {played / work:.0f} a second of processor time",
            flush=True,
        )
    print(f"simulator.py {seeds}; {circumstances()}")


if __name__ == "__main__":
    main()
