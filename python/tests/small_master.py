"""A master for one trial, as far as docs/reference/protocols.md §2 goes: remembers all that it is told."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
import urllib.parse
from typing import Any

from determined._info import ClusterInfo, TrialInfo


def info_of(master: SmallMaster, agent_id: str, run: int) -> ClusterInfo:
    """What a process of trial 7 knows of the cluster of this master."""
    trial = TrialInfo(
        trial_id=7, experiment_id=3, trial_seed=0, hparams={}, experiment_config={}, trial_run_id=run, steps_completed=0
    )
    return ClusterInfo(
        master_url=master.url,
        cluster_id="c",
        agent_id=agent_id,
        slot_ids=[],
        task_id="3.x",
        allocation_id=f"3.x.{run}",
        session_token="token",
        task_type="TRIAL",
        latest_checkpoint=None,
        warm_start=False,
        trial_info=trial,
    )


class SmallMaster:
    """Serves on a port of its own until closed."""

    def __init__(self, lengths: list[int], port: int = 0) -> None:
        self.lengths = lengths
        self.completed: dict[int, float] = {}
        self.told: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.preempt_after: int | None = None
        self.gone_after: int | None = None
        self.reported = threading.Condition()
        handler = type("Handler", (_Handler,), {"master": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def trained(self) -> int:
        return max([m["stepsCompleted"] for m in self.metrics("training")], default=0)

    def preempting(self) -> bool:
        return self.preempt_after is not None and self.trained() >= self.preempt_after

    def gone(self) -> bool:
        return self.gone_after is not None and self.trained() >= self.gone_after

    def metrics(self, group: str) -> list[Any]:
        return [
            body["metrics"]
            for path, body in list(self.told)
            if path.endswith("/metrics") and body.get("group") == group  # a profiler's have none
        ]

    def numbers(self) -> dict[tuple[str, int], Any]:
        return {
            (group, int(metrics["stepsCompleted"])): metrics["metrics"]
            for group in ("training", "validation")
            for metrics in self.metrics(group)
        }

    def checkpoints(self) -> list[Any]:
        return [body for path, body in list(self.told) if path == "/api/v1/checkpoints"]

    def calls(self, ending: str) -> list[Any]:
        return [body for path, body in list(self.told) if path.endswith(ending)]

    def known_operations(self) -> list[int]:
        """How many operations the trial knew whenever it asked for more."""
        return [int(query["known"]) for path, query in list(self.asked) if path.endswith("/searcher/operation")]

    def get(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        self.asked.append((path, query))
        if path.endswith("/searcher/operation"):
            operations = [{"length": str(n), "completed": n in self.completed} for n in self.lengths]
            return 200, {"operations": operations, "closed": True, "unit": "batches"}
        if path.endswith("/signals/preemption"):
            end = time.monotonic() + float(query.get("timeout_seconds", 60))
            with self.reported:
                while not self.preempting() and time.monotonic() < end:
                    self.reported.wait(0.2)
            return 200, {"preempt": self.preempting()}
        if "/resources/" in path:
            machines = {"addresses": ["127.0.0.1", "127.0.0.1"], "slots": [1, 1]}
            return 200, {"rendezvousInfo": {**machines, "rank": int(path.split("/")[-2])}}
        if path.endswith("/rendezvous"):
            end = time.monotonic() + float(query.get("timeout_seconds", 0))
            with self.reported:
                while not self.calls("/rendezvous") and time.monotonic() < end:
                    self.reported.wait(0.2)
            said = self.calls("/rendezvous")
            return 200, {"addresses": said[-1]["addresses"] if said else []}
        if path.endswith("/best_searcher_validation_metric"):
            return (200, {"metric": min(self.completed.values())}) if self.completed else (404, {})
        if path.endswith("/metadata"):
            said = self.calls(path)
            return 200, {"metadata": said[-1]["metadata"] if said else {}}
        return 404, {"error": path}

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        if self.gone():
            return 410, {}
        with self.reported:
            self.told.append((path, body))
            if path.endswith("/completed_operation"):
                self.completed[int(body["op"]["validateAfter"]["length"])] = body["searcherMetric"]
            self.reported.notify_all()
        return 200, {}


class _Handler(http.server.BaseHTTPRequestHandler):
    master: SmallMaster
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        place = urllib.parse.urlsplit(self.path)
        self._answer(*self.master.get(place.path, dict(urllib.parse.parse_qsl(place.query))))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        self._answer(*self.master.post(self.path, body))

    def _answer(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        with contextlib.suppress(OSError):  # the trial need not wait for the end of a long poll
            self.wfile.flush()

    def log_message(self, *arguments: Any) -> None:
        pass
