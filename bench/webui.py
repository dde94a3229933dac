"""How long does a user wait for the pages, with many experiments and one long curve?

Measured in Chromium, against a real master.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import threading

from curves import report_curve
from platform_under_test import ROOT, Platform, circumstances, platform

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
    given = arguments.parse_args()
    measure(given.points, given.experiments)


def measure(points: int, wanted: int) -> None:
    """Fills a master with experiments, then measures its pages in a browser."""
    node = shutil.which("node") or str(ROOT / ".venv" / "bin" / "node")
    with platform(server="master") as server:
        trial = report_curve(server, points)  # first, so that it is not on the list's first page
        threads = [threading.Thread(target=submit, args=(server, range(1 + i, wanted, 8))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{wanted} experiments; {circumstances()}", flush=True)
        pace = ROOT / "webui" / "browser" / "pace.mjs"
        words = [node, pace, f"http://127.0.0.1:{server.port}", str(wanted), str(trial), str(points)]
        subprocess.run(words, check=True, env=os.environ)


if __name__ == "__main__":
    main()
