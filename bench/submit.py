"""How long does it take from submitting an experiment until the master has its first metric?

A real `det up`. The clock starts before the POST of configuration and files, and stops when a client that follows the
trial's metrics receives the first one, which is durable by then. Measured with a warm worker, without one, and for the
same trial in C++, compiled beforehand (only if `det-trial` is next to `det`).

Usage: python bench/submit.py [runs, default 12]
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

from platform_under_test import TINY, Platform, circumstances, det_program, platform, show

TINY_CXX = TINY.with_name("tiny_cxx")


def first_metric(server: Platform, model: pathlib.Path) -> float:
    """Milliseconds until the first metric. Waits for the end, so that the next experiment finds the slot free."""
    start = time.monotonic()
    experiment = server.submit(model)
    trials = server.call("GET", f"/api/v1/experiments/{experiment}/trials")["trials"]
    follower = server.connect()
    path = f"/api/v1/trials/{trials[0]['id']}/metrics/follow"
    follower.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    line = follower.getresponse().readline()
    elapsed = (time.monotonic() - start) * 1e3
    if not json.loads(line)["result"]["metrics"]:
        raise RuntimeError(f"the first line of the metric stream has no metric: {line!r}")
    follower.close()
    if (state := server.wait_until_over(experiment)) != "COMPLETED":
        raise RuntimeError(f"experiment {experiment} is {state}")
    return elapsed


def measure(name: str, runs: int, *options: str, model: pathlib.Path = TINY) -> None:
    with platform(*options) as server:
        server.wait_until_over(server.submit(model), 600)  # lets a warm worker start, and compiles
        time.sleep(3)
        show(name, [first_metric(server, model) for _ in range(runs)])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    measure("warm worker", runs)
    measure("cold start", max(10, runs), "--no-warm-worker")
    if pathlib.Path(det_program()).with_name("det-trial").exists():
        measure("in C++, compiled beforehand", runs, model=TINY_CXX)
    print(f"submit.py {runs}; {circumstances()}")


if __name__ == "__main__":
    main()
