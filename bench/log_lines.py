"""How many log lines per second does the platform take, and how fast can it read and search them?

1. A trial prints a million lines as fast as it can; the clock stops when all of them are durable in the log.
2. A program outside the cluster posts lines over one connection, a thousand per call.
3. The trial's log is read from its end, from its middle and whole, and searched for a word that only one line has:
   five HTTP calls each.

MLflow and TensorBoard have no counterpart: neither collects log lines or searches them. Their users store a finished
file as an artifact, or open the file itself.

Usage: python bench/log_lines.py [lines, default 1000000]
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from curves import begin_trial
from platform_under_test import ROOT, Platform, circumstances, platform, show

TALK = ROOT / "bench" / "models" / "talk"
CALLS = 5
A_CALL = 1000


def lines_of(server: Platform, trial: int, query: str = "") -> list[Any]:
    """All entries of the streamed log (`Platform.call` reads only single documents)."""
    headers = {"Authorization": f"Bearer {server.token}"}
    server.connection.request("GET", f"/api/v1/trials/{trial}/logs?{query}", None, headers)
    reply = server.connection.getresponse()
    if reply.status != 200:
        raise RuntimeError(f"logs?{query}: {reply.status}")
    return [json.loads(line)["result"] for line in reply.read().splitlines()]


def print_lines(server: Platform, lines: int) -> int:
    """Runs a trial that prints this many lines; returns its id."""
    experiment = server.submit(TALK, environment=f"{{environment_variables: [BENCH_LINES={lines}]}}")
    while not (trials := server.call("GET", f"/api/v1/experiments/{experiment}/trials")["trials"]):
        time.sleep(0.05)
    trial = int(trials[0]["id"])
    while not (
        found := [e["log"] for e in lines_of(server, trial, "limit=20&orderBy=ORDER_BY_DESC") if "BEGIN" in e["log"]]
    ):
        if server.state(experiment) == "STATE_ERROR":
            raise RuntimeError("".join(e["log"] for e in lines_of(server, trial, "limit=50&orderBy=ORDER_BY_DESC")))
        time.sleep(0.02)
    now = time.time()
    words = found[0].split()
    begin, end = float(words[words.index("BEGIN") + 1]), float(words[words.index("END") + 1])
    print(
        f"a trial's lines: {lines / (now - begin):,.0f} per second until durable in the log, "
        f"{lines / (end - begin):,.0f} per second printed",
        flush=True,
    )
    server.wait_until_over(experiment)
    return trial


def post_lines(server: Platform, seconds: float) -> None:
    trial, _ = begin_trial(server, 1)
    task = server.call("GET", f"/api/v1/trials/{trial}")["trial"]["taskId"]
    sent, begin = 0, time.monotonic()
    while (elapsed := time.monotonic() - begin) < seconds:
        texts = [f"epoch 3 batch {i}: loss 0.123456, 1234.5 records a second" for i in range(sent, sent + A_CALL)]
        entries = [{"taskId": task, "log": text, "stdtype": "stdout", "rankId": 0} for text in texts]
        server.call("POST", "/api/v1/task/logs", {"logs": entries})
        sent += A_CALL
    print(f"lines from outside the cluster: {sent / elapsed:,.0f} per second, {A_CALL} per call", flush=True)


def read(server: Platform, trial: int, what: str, query: str, expected: int) -> None:
    times = []
    for _ in range(CALLS):
        begin = time.monotonic()
        found = len(lines_of(server, trial, query))
        times.append((time.monotonic() - begin) * 1e3)
        if found < expected:
            raise RuntimeError(f"{what}: {found} lines of {expected}")
    show(what, times)


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with platform("--slots", "1") as server:
        trial = print_lines(server, lines)
        post_lines(server, 5)
        middle = lines_of(server, trial, "searchText=needle&limit=1")[0]["id"]
        read(server, trial, "the last 1,000 lines", "limit=1000&orderBy=ORDER_BY_DESC", 1000)
        read(server, trial, "1,000 lines from the middle", f"limit=1000&afterId={middle}", 1000)
        read(server, trial, f"search {lines:,} lines for a word in one of them", "searchText=needle", 1)
        read(server, trial, f"all {lines:,} lines", "", lines)
    print(f"log_lines.py {lines}; {circumstances()}")


if __name__ == "__main__":
    main()
