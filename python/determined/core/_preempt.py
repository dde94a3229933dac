"""Preemption: whether the trial has to release its slots."""

from __future__ import annotations

import contextlib
import enum
import logging
import threading
import time
from typing import Any

from determined import _arguments
from determined._info import ClusterInfo
from determined.common.api import errors
from determined.core._connection import Master, poll_pause
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined")

_POLL_SECONDS = 60.0
_FIRST_SECONDS = 5.0


class PreemptMode(enum.Enum):
    """Which ranks ask whether to stop."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    """All ranks call ``should_preempt()`` together and get the same answer."""
    ChiefOnly = "CHIEF_ONLY"
    """Only the chief may call."""
    WorkersAskMaster = "WORKERS_ASK_MASTER"
    """Any rank may call at any time; not all of them get the same answer at the same moment."""


class PreemptContext:
    """Answers whether to stop now, be it for a pause, for preemption, or because the agent is being drained.

    Outside a cluster, the answer is always False.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        info: ClusterInfo | None,
        master: Master | None,
        mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._distributed = distributed
        self._info = info
        self._master = master
        self._mode = _arguments.choice(PreemptMode, mode, "preempt_mode")
        self._started = False
        self._asked = threading.Event()
        self._wanted = threading.Event()
        self._failure: BaseException | None = None
        self._acknowledged = False
        self._watcher: threading.Thread | None = None
        self._watching: Master | None = None

    def start(self) -> PreemptContext:
        """From now on the master may be asked; ``core.init()`` calls it."""
        self._started = True
        return self

    def _start_watching(self) -> None:
        """Starts the thread that asks the master, when somebody wants to know for the first time: most trials that take
        milliseconds never do. Waits for its first answer, unless the master is away.
        """
        watches = self._distributed.rank == 0 or self._mode is PreemptMode.WorkersAskMaster
        if not self._started or self._watcher is not None or self._info is None or self._master is None or not watches:
            return
        self._watching = Master(self._info.master_url, self._info.session_token)
        self._watcher = threading.Thread(target=self._watch, name="preemption", daemon=True)
        self._watcher.start()
        self._asked.wait(_FIRST_SECONDS)

    def close(self) -> None:
        if self._watching is not None:
            self._watching.close()
        if self._watcher is not None:
            self._watcher.join(timeout=5)
            self._watcher = None
        self._started = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Returns whether the trial has to save its state and end.

        When it returns True, save a checkpoint and end the process with status 0; the platform later restarts the trial
        from that checkpoint. With ``auto_ack``, the master is told at once that the trial will do so; otherwise call
        :meth:`acknowledge_preemption_signal`. Without an acknowledgement, the end of the process means that the trial
        is complete.

        With ``WorkersAskChief`` the ranks wait for one another, so ask every few batches rather than at every batch.

        Raises:
            RuntimeError: the mode is ``ChiefOnly``, and this rank is not the chief.
        """
        rank = self._distributed.rank
        if self._mode is PreemptMode.ChiefOnly and rank != 0:
            raise RuntimeError(f"rank {rank} called should_preempt(), but PreemptMode.ChiefOnly allows only rank 0 to")
        self._start_watching()
        if self._failure is not None:
            raise self._failure
        wanted: Any = self._wanted.is_set()
        if self._mode is PreemptMode.WorkersAskChief:
            wanted = self._distributed.broadcast(wanted)
        if wanted and auto_ack and (rank == 0 or self._mode is PreemptMode.WorkersAskMaster):
            self.acknowledge_preemption_signal()
        return bool(wanted)

    def acknowledge_preemption_signal(self) -> None:
        """Tells the master that the trial is going to save its state and end. Does nothing outside a cluster."""
        if self._acknowledged or self._info is None or self._master is None:
            return
        self._master.post(f"/api/v1/allocations/{self._info.allocation_id}/signals/ack_preemption", {})
        self._acknowledged = True

    def gives_way_while_waiting(self) -> bool:
        """For a chief that waits for the searcher: returns whether to end instead, and acknowledges it."""
        self._start_watching()
        if self._failure is not None:
            raise self._failure
        if self._wanted.is_set():
            self.acknowledge_preemption_signal()
        return self._wanted.is_set()

    def _watch(self) -> None:
        with contextlib.suppress(ConnectionAbortedError):
            self._ask(0)
            self._asked.set()
            while not self._wanted.is_set() and self._failure is None:
                started = time.monotonic()
                self._ask(_POLL_SECONDS)
                if not self._wanted.is_set():
                    poll_pause(started, 0.2)

    def _ask(self, seconds: float) -> None:
        """Waits so long for the wish that the trial gives way."""
        assert self._info is not None and self._watching is not None
        path = f"/api/v1/allocations/{self._info.allocation_id}/signals/preemption"
        query = {"strict": "true", "timeout_seconds": int(seconds)}  # strict: 410 when it is over
        try:
            answer = self._watching.get(path, query, max(seconds, 10.0))
        except errors.APIException as error:
            self._failure = error
            return
        if answer["preempt"]:
            self._wanted.set()
