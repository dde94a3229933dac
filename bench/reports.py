"""How many metric reports per second does a master acknowledge over its API, each of them durable?

A real `det master`. This program plays the agent, which gives it the tokens of the trials' allocations. `report_load`,
a small program in C++, plays k trials at once: each has one connection, and sends its next report when the previous one
is answered; in the last line, eight reports are in flight on each. What processors both take is shown beside the rate.
With a Python that has MLflow and psycopg2, and an empty database for it, `mlflow server` is measured before.

Usage: python bench/reports.py [seconds per line, default 3] [postgres://USER@HOST:PORT/NAME, an empty database]
       [Python with MLflow] [postgres://USER@HOST:PORT/NAME for MLflow]
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

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


@dataclasses.dataclass
class Client:
    """What one connection sends."""

    path: str
    token: str
    body: str  # with "@" in place of the step
    step: int = 0


def of_trial(allocation: dict[str, object]) -> Client:
    trial, run = allocation["trialId"], allocation["runId"]
    metrics = f'{{"trialId": {trial}, "trialRunId": {run}, "stepsCompleted": @, "reportTime": null, "metrics": '
    body = f'{{"group": "training", "metrics": {metrics}{{"avgMetrics": {{"loss": 0.@, "accuracy": 0.5}}}}}}}}'
    return Client(f"/api/v1/trials/{trial}/metrics", str(allocation["token"]), body)


def measure(port: int, pid: int, clients: list[Client], seconds: float, depth: int) -> None:
    lines = [f"{port} {seconds} {depth}", *(f"{c.path} {c.token} {c.step} {c.body}" for c in clients)]
    before = processor_seconds(pid)
    done = subprocess.run([LOAD], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    server = processor_seconds(pid) - before
    first, *steps = done.stdout.splitlines()
    for client, step in zip(clients, steps, strict=True):
        client.step = int(step)
    count, elapsed, median, slow, own = map(float, first.split())
    rate = f"{len(clients):3d} clients, {depth} in flight each: {count / elapsed:6.0f} reports/s"
    used = f"CPU: server {server / elapsed:.2f}, {server / count * 1e6:.0f} us a report, clients {own / elapsed:.2f}"
    print(f"{rate}, answered in {median:.1f} ms (median), {slow:.1f} ms (p99); {used}", flush=True)


def processor_seconds(pid: int) -> float:
    """Of a process and all below it."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            number = int(stat.parent.name)
            parents[number] = int(fields[1])
            seconds[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_below(number: int) -> bool:
        while number not in (0, pid):
            number = parents.get(number, 0)
        return number == pid

    return sum(used for number, used in seconds.items() if is_below(number))


def measure_mlflow(python: str, database: str, seconds: float) -> None:
    """`mlflow server` with its defaults, on a database of the same server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = database.replace("postgres://", "postgresql+psycopg2://")
    words = [python, "-m", "mlflow", "server", "--port", str(port), "--backend-store-uri", uri]
    variables = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    with tempfile.TemporaryDirectory() as place, (pathlib.Path(place) / "log").open("wb") as log:
        server = subprocess.Popen(words, cwd=place, stdout=log, stderr=log, env=variables)
        try:
            url = f"http://127.0.0.1:{port}"
            while server.poll() is None:
                time.sleep(0.5)
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/health", timeout=5)
                    break
            clients = []
            for _ in range(64):
                body = b'{"experiment_id": "0"}'
                headers = {"Content-Type": "application/json"}
                made = urllib.request.Request(f"{url}/api/2.0/mlflow/runs/create", body, headers)
                run = json.loads(urllib.request.urlopen(made).read())["run"]["info"]["run_id"]
                report = f'{{"run_id": "{run}", "key": "loss", "value": 0.@, "timestamp": 1@, "step": @}}'
                clients.append(Client("/api/2.0/mlflow/runs/log-metric", "-", report))
            for count in (1, 16, 64):
                measure(port, server.pid, clients[:count], seconds, 1)
        finally:
            server.terminate()
            server.wait()
    print("MLflow with PostgreSQL, one metric a report")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    database = sys.argv[2] if len(sys.argv) > 2 else ""
    if len(sys.argv) > 4:
        measure_mlflow(sys.argv[3], sys.argv[4], seconds)
    with platform(*(["--db", database] if database else []), server="master") as server:
        agent = Agent(server)
        agent.sync()
        for _ in range(TRIALS):
            server.submit()
        allocations = agent.sync()
        if len(allocations) < TRIALS:
            raise RuntimeError(f"{len(allocations)} allocations for {TRIALS} experiments")
        clients = [of_trial(allocation) for allocation in allocations]
        for count, depth in ((1, 1), (16, 1), (64, 1), (TRIALS, 1), (64, 8)):
            agent.sync()
            measure(server.port, server.process.pid, clients[:count], seconds, depth)
    print(f"reports.py {seconds:g} {'PostgreSQL' if database else 'SQLite'}; {circumstances()}")


if __name__ == "__main__":
    main()
