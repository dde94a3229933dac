"""Sends the output of a program outside a cluster to the log of its trial."""

from __future__ import annotations

import datetime
import logging
import sys
import threading
from collections import deque
from typing import Any, TextIO

from determined._info import ClusterInfo
from determined.common.api import errors
from determined.core._connection import Master

logger = logging.getLogger("determined")

_LINES_PER_CALL = 1000
_LINES_MAX = 50_000  # that wait for a master that does not answer
_EVERY_SECONDS = 1.0
_END_SECONDS = 10.0


class LogShipper:
    """Copies what this process writes to ``sys.stdout`` and ``sys.stderr`` to the trial's log.

    Output of C libraries and of other processes is not copied. While the master is unavailable, up to 50,000 lines are
    queued; if there are more, the oldest are dropped, and the log says how many.
    """

    def __init__(self, info: ClusterInfo, rank: int) -> None:
        self._task = info.task_id
        self._rank = rank
        self._master = Master(info.master_url, info.session_token)
        self._lines: deque[dict[str, Any]] = deque()
        self._left_out = 0
        self._lock = threading.Lock()
        self._more = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._ship, name="log shipper", daemon=True)
        self._tees: list[tuple[str, _Tee, Any]] = []

    def start(self) -> None:
        for name in ("stdout", "stderr"):
            original = getattr(sys, name)
            if original is not None:
                tee = _Tee(original, self, name)
                self._tees.append((name, tee, original))
                setattr(sys, name, tee)
        self._thread.start()

    def close(self) -> None:
        """Sends the queued lines, for at most ten seconds."""
        for name, tee, original in self._tees:
            tee.finish()
            if getattr(sys, name) is tee:
                setattr(sys, name, original)
        self._tees = []
        self._ending.set()
        self._more.set()
        self._thread.join(timeout=_END_SECONDS)
        self._master.close()

    def add(self, stream: str, line: str) -> None:
        entry = {
            "taskId": self._task,
            "log": line,
            "stdtype": stream,
            "rankId": self._rank,
            "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        }
        with self._lock:
            self._lines.append(entry)
            if len(self._lines) > _LINES_MAX:
                self._lines.popleft()
                self._left_out += 1
            full = len(self._lines) >= _LINES_PER_CALL
        if full:
            self._more.set()

    def _take(self) -> list[dict[str, Any]]:
        with self._lock:
            taken = [self._lines.popleft() for _ in range(min(len(self._lines), _LINES_PER_CALL))]
            left_out, self._left_out = self._left_out, 0
        if left_out and taken:
            taken.insert(0, {**taken[0], "log": f"determined: {left_out} lines left out: the master did not answer"})
        return taken

    def _ship(self) -> None:
        while True:
            self._more.wait(_EVERY_SECONDS)
            self._more.clear()
            last = self._ending.is_set()
            while lines := self._take():
                try:
                    self._master.post("/api/v1/task/logs", {"logs": lines})
                except (OSError, errors.APIException) as error:
                    if not last:
                        logger.debug("log shipping has stopped: %s", error)
                    return
            if last:
                return


class _Tee:
    """A text stream that also passes its lines on."""

    def __init__(self, original: TextIO, shipper: LogShipper, name: str) -> None:
        self._original = original
        self._shipper = shipper
        self._name = name
        self._rest = ""
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        written = self._original.write(text)
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._shipper.add(self._name, line)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def finish(self) -> None:
        with self._lock:
            rest, self._rest = self._rest, ""
        if rest:
            self._shipper.add(self._name, rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)
