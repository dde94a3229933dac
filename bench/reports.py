"""How many metric reports per second does a master acknowledge over its API, each of them durable?

A real `det master`. This program plays the agent, which gives it the tokens of the trials' allocations. `report_load`,
a small program in C++, plays k trials at once: each has one connection, and sends its next report when the previous one
is answered; in the last line, eight reports are in flight on each. What processors both take is shown beside the rate.

Usage: python bench/reports.py [seconds per line, default 3] [postgres://USER@HOST:PORT/NAME, an empty database]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from platform_under_test import ROOT, Platform, circumstances, platform

TRIALS = 256
LOAD = os.environ.get("REPORT_LOAD") or str(ROOT / "build" / "release" / "bench" / "report_load")


class Agent:
    """An agent with many slots that starts no processes."""

    def __init__(self, server: Platform) -> None:
        self.server, self.sequence = server, 0
        self.token = (server.directory / "state" / "agent.token").read_text().strip()

    def sync(self) -> list[dict[str, object]]:
        """Registers the slots; returns the allocations that the master wants to run."""
        self.sequence += 1
        slots = [{"id": i, "type": "cpu", "brand": "none", "uuid": f"cpu-{i}"} for i in range(TRIALS)]
        body = {
            "session": "bench", "sequence": self.sequence, "knownEpoch": 0, "knownVersion": 0, "waitMilliseconds": 0,
            "version": "0.1.0", "hostname": "bench", "resourcePool": "default", "slots": slots, "allocations": [],
        }  # fmt: skip
        answer = self.server.call("POST", "/api/v1/agents/bench/sync", body, token=self.token)
        return list(answer["desired"])


def measure(server: Platform, trials: list[dict[str, object]], seconds: float, depth: int) -> None:
    lines = [f"{server.port} {seconds} {depth}"]
    lines += [f"{t['trialId']} {t['runId']} {t['token']} {t.get('batches', 0)}" for t in trials]
    before = processor_seconds(server.process.pid)
    done = subprocess.run([LOAD], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    master = processor_seconds(server.process.pid) - before
    first, *batches = done.stdout.splitlines()
    for trial, number in zip(trials, batches, strict=True):
        trial["batches"] = int(number)
    count, elapsed, median, slow, own = map(float, first.split())
    rate = f"{len(trials):3d} clients, {depth} in flight each: {count / elapsed:6.0f} reports/s"
    used = f"CPU: master {master / elapsed:.2f}, {master / count * 1e6:.0f} us a report, clients {own / elapsed:.2f}"
    print(f"{rate}, answered in {median:.1f} ms (median), {slow:.1f} ms (p99); {used}", flush=True)


def processor_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    database = sys.argv[2] if len(sys.argv) > 2 else ""
    with platform(*(["--db", database] if database else []), server="master") as server:
        agent = Agent(server)
        agent.sync()
        for _ in range(TRIALS):
            server.submit()
        allocations = agent.sync()
        if len(allocations) < TRIALS:
            raise RuntimeError(f"{len(allocations)} allocations for {TRIALS} experiments")
        for count, depth in ((1, 1), (16, 1), (64, 1), (TRIALS, 1), (64, 8)):
            agent.sync()
            measure(server, allocations[:count], seconds, depth)
    print(f"reports.py {seconds:g} {'PostgreSQL' if database else 'SQLite'}; {circumstances()}")


if __name__ == "__main__":
    main()
