"""Shows in TensorBoard what the profiler of a trial has reported to the master.

Our own harness writes these curves to the trial's event files. Harnesses of other versions only report them.
"""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

from determined.exec._service import Service
from determined.tensorboard._board import system_scalars
from determined.tensorboard._events import EventFile

GROUPS = ("cpu", "memory", "disk", "network", "gpu")
_FOLLOW_SECONDS = 30.0
_OVER = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")


class Measured:
    """The reports of one trial's profiler, as an event file in ``directory``, which exists once there are some. There
    is none if the trial itself writes them, into ``own``.
    """

    def __init__(self, service: Service, trial: int, own: pathlib.Path, directory: pathlib.Path) -> None:
        self._service = service
        self._trial = trial
        self._own = own
        self._directory = directory
        self._file: EventFile | None = None
        self._written: dict[str, int] = {}

    def update(self) -> bool:
        """Adds what is new. Returns whether more may come."""
        if any(self._own.glob("events.out.tfevents.*.profiler")):
            return False
        over = self._service.call("GET", f"/api/v1/trials/{self._trial}")["trial"]["state"] in _OVER
        for group in GROUPS:
            query = f"trialIds={self._trial}&group={group}"
            for item in self._service.items(f"/api/v1/trials/metrics/trial_metrics?{query}"):
                for report in item["metrics"]:
                    self._write(group, int(report["totalBatches"]), report["metrics"].get("avg_metrics") or {})
        return not over

    def _write(self, group: str, seconds: int, by_agent: dict[str, Any]) -> None:
        if seconds <= self._written.get(group, -1):
            return
        self._written[group] = seconds
        for agent, values in by_agent.items():
            numbers = {
                name: float(value)
                for name, value in system_scalars(group, agent, values if isinstance(values, dict) else {}).items()
                if isinstance(value, (int, float))
            }
            if not numbers:
                continue
            if self._file is None:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._file = EventFile(self._directory, "profiler")
            self._file.scalars(seconds, numbers, at=float(seconds))


def follow(measured: list[Measured]) -> None:
    """Updates all of them until their trials are over."""
    while measured:
        running = []
        for one in measured:
            try:
                more = one.update()
            except Exception as error:  # the master may be away for a moment
                print(f"the measurements of a trial cannot be read: {error}", file=sys.stderr, flush=True)
                more = True
            if more:
                running.append(one)
        measured = running
        if measured:
            time.sleep(_FOLLOW_SECONDS)
