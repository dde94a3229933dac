"""How much of a processor does a page take that shows trials which report as fast as they can?

A real `det master`, and 64 trials that `report_load` plays, as in lists.py. A Chromium that draws without a graphics
processor shows the list of experiments, one of the trials, and 40 of them in one comparison.

Usage: python bench/busy_pages.py [seconds per page, default 10]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from lists import REPORTING, start_load
from platform_under_test import ROOT, circumstances, platform
from reports import TRIALS, Agent, of_trial

COMPARED = 40  # the most that the page shows


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    node = shutil.which("node") or str(ROOT / ".venv" / "bin" / "node")
    with platform(server="master") as server:
        agent = Agent(server)
        agent.sync()
        for _ in range(TRIALS):
            server.submit()
        allocations = agent.sync()[:REPORTING]
        trials = [str(allocation["trialId"]) for allocation in allocations]
        paths = ["/det/experiments", f"/det/trials/{trials[0]}", f"/det/compare?trials={','.join(trials[:COMPARED])}"]
        load = start_load(server, [of_trial(one) for one in allocations], len(paths) * (seconds + 8))
        busy = ROOT / "webui" / "browser" / "busy.mjs"
        try:
            words = [node, busy, f"http://127.0.0.1:{server.port}", str(seconds), *paths]
            subprocess.run(words, check=True, env=os.environ)
        finally:
            load.terminate()
    print(f"busy_pages.py {seconds:g}; {REPORTING} trials reported; {circumstances()}")


if __name__ == "__main__":
    main()
