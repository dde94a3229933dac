"""How long is a cluster without a master after `kill -9`, with many trials running?

A real `det master`; this program plays the agents, which report every allocation as running. The trials belong to one
random search, and every twentieth has reported a metric and a checkpoint. The master is killed and started again five
times. The clock runs from the kill until it listens, until it answers a user, and until every agent has received its
allocations.

Usage: python bench/recovery.py [trials, default 10000]
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from platform_under_test import Platform, _port, circumstances, det_program, platform

SLOTS = 100


class Agent:
    """An agent with many slots that starts no processes."""

    def __init__(self, name: str) -> None:
        self.name, self.sequence, self.epoch, self.version = name, 0, 0, 0
        self.running: list[str] = []

    def sync(self, server: Platform, token: str) -> list[dict[str, Any]]:
        self.sequence += 1
        slots = [{"id": i, "type": "cpu", "brand": "none", "uuid": f"cpu-{i}"} for i in range(SLOTS)]
        body = {
            "session": f"bench-{self.name}", "sequence": self.sequence, "knownEpoch": self.epoch,
            "knownVersion": self.version, "waitMilliseconds": 0, "version": "0.1.0", "hostname": self.name,
            "resourcePool": "default", "slots": slots,
            "allocations": [{"allocationId": id, "state": "running", "exits": [], "addresses": []}
                            for id in self.running],
        }  # fmt: skip
        answer = server.call("POST", f"/api/v1/agents/{self.name}/sync", body, token=token)
        self.epoch, self.version = int(answer["epoch"]), int(answer["version"])
        self.running = [wanted["allocationId"] for wanted in answer["desired"]]
        return list(answer["desired"])


def search(trials: int) -> str:
    return (
        "name: many\nentrypoint: model_def:Trial\nmax_restarts: 0\n"
        "hyperparameters: {global_batch_size: 8, rate: {type: double, minval: 0, maxval: 1}}\n"
        f"searcher: {{name: random, metric: loss, max_trials: {trials}, max_concurrent_trials: {trials},"
        " max_length: {batches: 1000}}\n"
    )


def start_again(server: Platform) -> tuple[subprocess.Popen[str], float]:
    """Kills the master and starts another on its directory; returns it and the seconds until it listens."""
    output = server.directory / f"again-{time.monotonic_ns()}"
    command = [det_program(), "master", "--dir", str(server.directory / "state"), "--port", str(server.port)]
    begin = time.monotonic()
    server.process.kill()
    server.process.wait()
    with output.open("w") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, text=True)
    while "ready" not in output.read_text():
        if process.poll() is not None:
            sys.exit(f"det ended with status {process.returncode}:\n{output.read_text()}")
        time.sleep(0.002)
    _port(process, output)
    return process, time.monotonic() - begin


def report(server: Platform, wanted: dict[str, Any]) -> None:
    """Reports a metric and a checkpoint."""
    trial, token = wanted["trialId"], wanted["token"]
    metrics = {"trialId": trial, "trialRunId": wanted["runId"], "stepsCompleted": 10, "reportTime": None,
               "metrics": {"avgMetrics": {"loss": 0.5}}}  # fmt: skip
    server.call("POST", f"/api/v1/trials/{trial}/metrics", {"group": "training", "metrics": metrics}, token=token)
    checkpoint = {"uuid": f"checkpoint-{trial}", "metadata": {"steps_completed": 10}}
    server.call("POST", "/api/v1/checkpoints", checkpoint, token=token)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with platform(server="master") as server:
        token = (server.directory / "state" / "agent.token").read_text().strip()
        agents = [Agent(f"agent-{i}") for i in range(-(-trials // SLOTS))]
        for agent in agents:
            agent.sync(server, token)
        begin = time.monotonic()
        created = server.call("POST", "/api/v1/experiments", {"config": search(trials), "activate": True})
        print(f"submitted and placed {trials} trials: {time.monotonic() - begin:.2f} s", flush=True)
        experiment = created["experiment"]["id"]
        begin = time.monotonic()
        for agent in agents:
            for wanted in agent.sync(server, token)[::20]:
                report(server, wanted)
        for agent in agents:
            agent.sync(server, token)
        print(f"reported a metric and a checkpoint of every twentieth: {time.monotonic() - begin:.1f} s", flush=True)
        before = {agent.name: sorted(agent.running) for agent in agents}
        assert sum(map(len, before.values())) == trials, "some trials do not run"
        times: list[tuple[float, float, float]] = []
        for _ in range(5):
            process, listens = start_again(server)
            killed = time.monotonic() - listens
            server.process, server.connection = process, server.connect()
            state = server.call("GET", f"/api/v1/experiments/{experiment}")["experiment"]["state"]
            answers = time.monotonic() - killed
            for agent in agents:
                agent.sync(server, token)
            whole = time.monotonic() - killed
            assert state in ("STATE_RUNNING", "STATE_ACTIVE", "STATE_STARTING"), state
            assert {agent.name: sorted(agent.running) for agent in agents} == before, "a trial was lost"
            times.append((listens, answers, whole))
            print(json.dumps([round(t, 3) for t in times[-1]]), flush=True)
        size = sum(f.stat().st_size for f in pathlib.Path(server.directory / "state").glob("determined.db*"))
        resident = pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
        for name, column in zip(
            ("listens", "answers a user", "every agent has its allocations"), zip(*times, strict=True), strict=True
        ):
            print(f"{name}: median {statistics.median(column):.2f} s, slowest {max(column):.2f}")
        print(f"database {size / 1e6:.0f} MB, master {int(resident) * 4096 / 1e6:.0f} MB")
    print(f"recovery.py {trials}; {circumstances()}")


if __name__ == "__main__":
    main()
