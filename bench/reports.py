"""How many metric reports per second does a master acknowledge over its API, each of them durable?

A real `det master`. This program plays the agent, which gives it the tokens of the trials' allocations, and then k
trials at once: each has one connection and sends its next report when the previous one is answered. All clients share
one Python process, which takes its part of the CPU on a small machine.

Usage: python bench/reports.py [seconds per line, default 3] [postgres://USER@HOST:PORT/NAME, an empty database]
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time

from platform_under_test import Platform, circumstances, platform

TRIALS = 256


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


class Trial:
    """The connection of one trial, with one report in flight."""

    def __init__(self, port: int, allocation: dict[str, object]) -> None:
        self.id, self.run, self.token = allocation["trialId"], allocation["runId"], allocation["token"]
        self.batches = 0
        self.sent = 0.0
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> None:
        self.batches += 1
        report = {"trialId": self.id, "trialRunId": self.run, "stepsCompleted": self.batches, "reportTime": None,
                  "metrics": {"avgMetrics": {"loss": 1 / self.batches, "accuracy": 0.5}}}  # fmt: skip
        body = json.dumps({"group": "training", "metrics": report})
        head = (
            f"POST /api/v1/trials/{self.id}/metrics HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.sent = time.monotonic()
        self.socket.sendall((head + body).encode())

    def receive(self) -> float:
        """Waits for the answer; returns the seconds it took. A short answer arrives in one piece."""
        answer = self.socket.recv(65536)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(answer.decode(errors="replace"))
        return time.monotonic() - self.sent


def measure(trials: list[Trial], seconds: float) -> None:
    ready = selectors.DefaultSelector()
    for trial in trials:
        ready.register(trial.socket, selectors.EVENT_READ, trial)
    taken: list[float] = []
    start = time.monotonic()
    open_calls = len(trials)
    for trial in trials:
        trial.send()
    while open_calls:
        for key, _ in ready.select():
            taken.append(key.data.receive())
            if time.monotonic() - start < seconds:
                key.data.send()
            else:
                open_calls -= 1
    elapsed = time.monotonic() - start
    taken.sort()
    median, slow = taken[len(taken) // 2] * 1e3, taken[int(len(taken) * 0.99)] * 1e3
    rate = len(taken) / elapsed
    print(f"{len(trials):3d} clients: {rate:6.0f} reports/s, answered in {median:.1f} ms (median), {slow:.1f} ms (p99)")


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
        trials = [Trial(server.port, allocation) for allocation in allocations]
        for count in (1, 16, 64, TRIALS):
            agent.sync()
            measure(trials[:count], seconds)
    print(f"reports.py {seconds:g} {'PostgreSQL' if database else 'SQLite'}; {circumstances()}")


if __name__ == "__main__":
    main()
