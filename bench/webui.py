"""How long does a user wait for the pages, with many experiments and one long curve? And with `--busy SECONDS`: how
much of a processor does a page take that shows trials which report as fast as they can?

Measured in a Chromium that draws without a graphics processor, against a real master. The trials that report are those
of lists.py.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import threading

from curves import report_curve
from lists import REPORTING, start_load
from platform_under_test import ROOT, Platform, circumstances, platform
from reports import TRIALS, Agent, of_trial

COMPARED = 40  # the most trials that a comparison shows

CONFIG = """name: {name}
description: number {number} of many
labels: [{label}]
hyperparameters: {{global_batch_size: 8}}
searcher: {{name: single, metric: loss, max_length: {{batches: 100}}}}
entrypoint: model_def:Trial
"""


def submit(server: Platform, numbers: range) -> None:
    """Submits paused experiments over a connection of its own."""
    mine = Platform(server.process, server.directory, server.port)
    for number in numbers:
        config = CONFIG.format(name=f"model {number % 97}", number=number, label=f"group{number % 13}")
        mine.call("POST", "/api/v1/experiments", {"config": config, "activate": False})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--experiments", type=int, default=10_000)
    arguments.add_argument("--points", type=int, default=1_000_000)
    arguments.add_argument("--busy", type=float, metavar="SECONDS", help="per page")
    given = arguments.parse_args()
    if given.busy:
        measure_busy(given.busy)
    else:
        measure(given.points, given.experiments)


def walk(program: str, *words: str) -> None:
    """Runs a program of webui/browser."""
    node = shutil.which("node") or str(ROOT / ".venv" / "bin" / "node")
    subprocess.run([node, ROOT / "webui" / "browser" / program, *words], check=True, env=os.environ)


def measure(points: int, wanted: int) -> None:
    """Fills a master with experiments, then measures its pages in a browser."""
    with platform(server="master") as server:
        trial = report_curve(server, points)  # first, so that it is not on the list's first page
        threads = [threading.Thread(target=submit, args=(server, range(1 + i, wanted, 8))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{wanted} experiments; {circumstances()}", flush=True)
        walk("pace.mjs", f"http://127.0.0.1:{server.port}", str(wanted), str(trial), str(points))


def measure_busy(seconds: float) -> None:
    """Measures the list, one of the trials that report, and the most that are compared."""
    with platform(server="master") as server:
        agent = Agent(server)
        agent.sync()
        for _ in range(TRIALS):
            server.submit()
        allocations = agent.sync()[:REPORTING]
        trials = [str(allocation["trialId"]) for allocation in allocations]
        paths = ["/det/experiments", f"/det/trials/{trials[0]}", f"/det/compare?trials={','.join(trials[:COMPARED])}"]
        load = start_load(server, [of_trial(one) for one in allocations], len(paths) * (seconds + 8))
        try:
            walk("busy.mjs", f"http://127.0.0.1:{server.port}", str(seconds), *paths)
        finally:
            load.terminate()
    print(f"webui.py --busy {seconds:g}; {REPORTING} trials reported; {circumstances()}")


if __name__ == "__main__":
    main()
