"""How long does a command take, from the start of its process to its end?

`det --version` needs no master; `det experiment list` asks a real master that has some experiments. `true` shows what
starting any process costs on this machine.

Usage: python bench/cli_start.py [runs, default 50]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from platform_under_test import circumstances, det_program, platform, show


def measure(name: str, command: list[str], environment: dict[str, str], runs: int) -> None:
    taken = []
    for _ in range(runs):
        start = time.monotonic()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        taken.append((time.monotonic() - start) * 1e3)
    show(name, taken)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    det = det_program()
    with platform(server="master") as server:
        for _ in range(20):
            server.submit()  # no agent, so they stay queued
        environment = os.environ | {"DET_MASTER": f"http://127.0.0.1:{server.port}"}
        measure("true", ["/bin/true"], environment, runs)
        measure("det --version", [det, "--version"], environment, runs)
        measure("det experiment list, 20 experiments", [det, "experiment", "list"], environment, runs)
    print(f"cli_start.py {runs}; {circumstances()}")


if __name__ == "__main__":
    main()
