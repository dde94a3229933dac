"""How long do lists and charts take, at rest and while 64 trials report as fast as they can?

A real `det master` with 256 experiments of a trial each, one of 100 trials with 20 validations each, and one long
curve. `report_load` plays the trials that report (see reports.py). Meanwhile this program asks for one thing after the
other, over one connection, and shows the median and the 99th percentile of the time until the answer is there whole.
For comparison, the same of a loop that only computes: on a busy or shared machine nothing else is faster.

Usage: python bench/lists.py [seconds per line, default 10] [points of the curve, default 1000000]
       [postgres://USER@HOST:PORT/NAME, an empty database]
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
import uuid

from curves import CONFIG, report_curve
from platform_under_test import Platform, circumstances, platform
from reports import LOAD, TRIALS, Agent, Client, of_trial

SMALL = 100  # trials of one experiment
VALIDATIONS = 20
REPORTING = 64


def add_experiment(server: Platform) -> int:
    """One of SMALL trials, which have validated."""
    by_name = f"/api/v1/experiments/by-external-id/{uuid.uuid4()}"
    made = server.call("PUT", by_name, {"config": CONFIG.format(points=VALIDATIONS), "unmanaged": True})
    experiment = int(made["experiment"]["id"])
    for number in range(SMALL):
        wanted = {"experimentId": experiment, "hparams": {"lr": number / SMALL}, "unmanaged": True}
        body = {"createTrialRequest": wanted, "externalTrialId": str(uuid.uuid4())}
        trial = server.call("PUT", "/api/v1/trials", body)["trial"]["id"]
        run = server.call("POST", f"/api/v1/trials/{trial}/start", {"resume": True})["trialRunId"]
        for step in range(1, VALIDATIONS + 1):
            loss = (number * 37 % SMALL + 100 / step) / SMALL
            metrics = {"avgMetrics": {"loss": loss, "accuracy": 1 - loss / 4}}
            report = {"trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": metrics}
            for group in ("training", "validation"):
                server.call("POST", f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": report})
    return experiment


def times_of(server: Platform, path: str, seconds: float) -> list[float]:
    """Milliseconds of each call, until the time is over."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    headers = {"Authorization": f"Bearer {server.token}"}
    times: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        connection.request("GET", path, None, headers)
        reply = connection.getresponse()
        text = reply.read()
        times.append((time.perf_counter() - began) * 1000)
        if reply.status != 200:
            raise RuntimeError(f"{path}: {reply.status} {text[:500]!r}")
        time.sleep(0.02)  # a page that asks again
    return times


def times_of_a_loop(seconds: float) -> list[float]:
    """Milliseconds that this process takes for a computation of about 5 ms."""
    times: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        sum(range(400_000))
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(0.02)
    return times


def start_load(server: Platform, clients: list[Client], seconds: float) -> subprocess.Popen[str]:
    lines = [f"{server.port} {seconds} 1", *(f"{c.path} {c.token} {c.step} {c.body}" for c in clients)]
    load = subprocess.Popen([LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert load.stdin is not None
    load.stdin.write("\n".join(lines) + "\n")
    load.stdin.close()
    return load


def percentile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    points = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    database = sys.argv[3] if len(sys.argv) > 3 else ""
    with platform(*(["--db", database] if database else []), server="master") as server:
        curve, experiment = report_curve(server, points), add_experiment(server)
        agent = Agent(server)  # last: the master gives up one that does not call
        agent.sync()
        for _ in range(TRIALS):
            server.submit()
        clients = [of_trial(allocation) for allocation in agent.sync()][:REPORTING]
        best_first = "sortBy=SORT_BY_BEST_VALIDATION_METRIC&orderBy=ORDER_BY_ASC"
        reports = "/api/v1/trials/metrics/training_metrics"
        asked = {
            "100 experiments": "/api/v1/experiments?limit=100&orderBy=ORDER_BY_DESC&omitConfig=true",
            f"{SMALL} trials, best first": f"/api/v1/experiments/{experiment}/trials?limit=100&{best_first}",
            f"chart of {points:,} points": f"{reports}?trialIds={curve}&maxDatapoints=500",
            "a loop that computes": "",
        }
        for busy in (False, True):
            for what, path in asked.items():
                agent.sync()
                load = start_load(server, clients, seconds + 1) if busy else None
                time.sleep(0.5 if busy else 0)
                times = times_of(server, path, seconds) if path else times_of_a_loop(seconds)
                rate = ""
                if load is not None:
                    assert load.stdout is not None
                    first, *steps = load.stdout.read().splitlines()
                    for client, step in zip(clients, steps, strict=True):
                        client.step = int(step)
                    count, elapsed, *_ = map(float, first.split())
                    rate = f", beside {count / elapsed:.0f} reports/s"
                shown = f"{percentile(times, 0.5):.1f} ms (median), {percentile(times, 0.99):.1f} ms (p99)"
                print(f"{what}: {shown}, {len(times)} calls{rate}", flush=True)
    print(f"lists.py {seconds:g} {points} {'PostgreSQL' if database else 'SQLite'}; {circumstances()}")


if __name__ == "__main__":
    main()
