"""An unmanaged trial with one long curve, reported over the REST API, for benchmarks that read."""

from __future__ import annotations

import itertools
import json
import random
import selectors
import socket
import uuid
from collections.abc import Iterator

from platform_under_test import Platform

CONNECTIONS = 256
IN_ORDER = 40  # the last 1/40 of a curve arrives in order
CONFIG = """name: one curve of {points} points
searcher: {{name: single, metric: loss, max_length: {{batches: {points}}}}}
"""


def losses(points: int) -> Iterator[float]:
    """A falling curve with noise and a few peaks; the same on each call."""
    chance = random.Random(points)
    for step in range(points):
        peak = 3.0 if chance.random() < 1e-4 else 0.0
        yield 5 / (1 + step * 50 / points) + peak + chance.gauss(0, 0.05)


def begin_trial(server: Platform, points: int) -> tuple[int, int]:
    """Starts an unmanaged trial; returns the ids of the trial and its run."""
    by_name = f"/api/v1/experiments/by-external-id/{uuid.uuid4()}"
    made = server.call("PUT", by_name, {"config": CONFIG.format(points=points), "unmanaged": True})
    wanted = {"experimentId": made["experiment"]["id"], "hparams": {}, "unmanaged": True}
    body = {"createTrialRequest": wanted, "externalTrialId": str(uuid.uuid4())}
    trial = server.call("PUT", "/api/v1/trials", body)["trial"]["id"]
    return trial, server.call("POST", f"/api/v1/trials/{trial}/start", {"resume": True})["trialRunId"]


def report_curve(server: Platform, points: int) -> int:
    """Reports one loss per step, completes the trial and returns its id.

    Most reports go over many connections at once and arrive slightly out of order; the last part goes over one
    connection, as a trial reports. The master recomputes sums and extremes of the out-of-order part when it is idle.
    """
    trial, run = begin_trial(server, points)
    head = (
        f"POST /api/v1/trials/{trial}/metrics HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {server.token}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    )

    def request(step: int, loss: float) -> bytes:
        metrics = {"avgMetrics": {"loss": loss}}
        report = {"trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": metrics}
        body = json.dumps({"group": "training", "metrics": report})
        return (head.format(len(body)) + body).encode()

    requests = (request(step, loss) for step, loss in enumerate(losses(points), start=1))
    send_all(server.port, itertools.islice(requests, points - points // IN_ORDER), CONNECTIONS)
    send_all(server.port, requests, 1)
    server.call("PATCH", f"/api/v1/trials/{trial}", {"trialId": trial, "state": "STATE_COMPLETED"})
    return trial


def send_all(port: int, requests: Iterator[bytes], connections: int) -> None:
    """Sends all requests; each connection sends its next one when the previous one is answered."""
    ready = selectors.DefaultSelector()
    for request in itertools.islice(requests, connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ready.register(connection, selectors.EVENT_READ)
        connection.sendall(request)
    while ready.get_map():
        for key, _ in ready.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            answer = connection.recv(65536)  # a short answer arrives in one piece
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(answer.decode(errors="replace"))
            if more := next(requests, None):
                connection.sendall(more)
            else:
                ready.unregister(connection)
                connection.close()
