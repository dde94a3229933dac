"""How long from submitting an experiment until its first metric is in the master?

A real `det up`; the clock starts before the POST of configuration and files, and stops when a reader that follows the
trial's metrics sees the first one (the report is durable by then). First with the warm worker, then without, then the
same trial in C++, whose sources were compiled before (where there is `det-trial` beside `det`).

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
    """Milliseconds; returns when the experiment is over, so that the next has the slot for itself."""
    start = time.monotonic()
    experiment = server.submit(model)
    trials = server.call("GET", f"/api/v1/experiments/{experiment}/trials")["trials"]
    follower = server.connect()
    path = f"/api/v1/trials/{trials[0]['id']}/metrics/follow"
    follower.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    line = follower.getresponse().readline()
    elapsed = (time.monotonic() - start) * 1e3
    if not json.loads(line)["result"]["metrics"]:
        raise RuntimeError(f"the first line has no metric: {line!r}")
    follower.close()
    if (state := server.wait_until_over(experiment)) != "COMPLETED":
        raise RuntimeError(f"experiment {experiment} is {state}")
    return elapsed


def measure(name: str, runs: int, *options: str, model: pathlib.Path = TINY) -> None:
    with platform(*options) as server:
        server.wait_until_over(server.submit(model), 600)  # until a warm worker is warm, and what is compiled is there
        time.sleep(3)
        show(name, [first_metric(server, model) for _ in range(runs)])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    measure("warm worker", runs)
    measure("cold start", max(10, runs), "--no-warm-worker")
    if pathlib.Path(det_program()).with_name("det-trial").exists():
        measure("in C++, compiled before", runs, model=TINY_CXX)
    print(f"submit.py {runs}; {circumstances()}")


if __name__ == "__main__":
    main()
