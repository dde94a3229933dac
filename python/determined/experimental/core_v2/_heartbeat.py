"""Tells the master that a program outside a cluster is alive, and how it ended."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType
from typing import Any

from determined._info import ClusterInfo
from determined.common.api import errors
from determined.core._connection import Master

logger = logging.getLogger("determined")

_SECONDS = 60.0
_END_SECONDS = 30.0  # for the last word


class Heartbeat:
    """Sends a heartbeat of the trial's chief every minute, and reports at the end how the trial ended.

    A thread retries while the master does not answer; training continues meanwhile.
    """

    def __init__(self, info: ClusterInfo) -> None:
        self._path = f"/api/v1/trials/{info.trial.trial_id}"
        self._run = {"trialRunId": info.trial.trial_run_id}
        self._info = info
        self._master = Master(info.master_url, info.session_token)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Raises ConflictException: another process has started a later run of the trial."""
        self._master.patch(self._path, {"state": "STATE_RUNNING", **self._run})
        self._thread.start()

    def stop(self) -> None:
        """Sends nothing more; how the trial ended is reported by other means."""
        self._ended.set()
        self._master.close()

    def end(self, failure: str | None) -> None:
        """Reports that the trial has completed or failed. Gives up after half a minute."""
        if self._ended.is_set():
            return
        self.stop()
        last = Master(self._info.master_url, self._info.session_token, patience=_END_SECONDS)
        body = {"state": "STATE_COMPLETED"} if failure is None else {"state": "STATE_ERROR", "error": failure}
        try:
            last.patch(self._path, {**body, **self._run})
        except (OSError, errors.APIException) as error:
            logger.warning("the end of the trial was not reported to the master: %s", error)
        finally:
            last.close()

    def _beat(self) -> None:
        while not self._ended.wait(_SECONDS):
            try:
                self._master.patch(self._path, self._run)
            except ConnectionAbortedError:
                return
            except errors.ConflictException as error:
                logger.warning("heartbeats have stopped: %s", error)
                return
            except errors.APIException as error:
                logger.warning("the master refused a heartbeat: %s", error)


class Exit:
    """Detects how this process ends: by an exception, or by ``sys.exit`` with another status than 0."""

    def __init__(self) -> None:
        self.failure: str | None = None
        self._hook, self._exit = sys.excepthook, sys.exit

    def watch(self) -> None:
        self._hook, self._exit = sys.excepthook, sys.exit
        sys.excepthook = self._excepthook
        sys.exit = self._sys_exit

    def unwatch(self) -> None:
        if sys.excepthook == self._excepthook:
            sys.excepthook = self._hook
        if sys.exit == self._sys_exit:
            sys.exit = self._exit

    def _excepthook(self, kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        self.failure = describe(error)
        self._hook(kind, error, where)

    def _sys_exit(self, status: Any = None) -> Any:
        self.failure = describe(SystemExit(status))
        self._exit(status)


def describe(error: BaseException | None) -> str | None:
    """Why a trial that ends like this has failed; None if it has not."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return None
    if isinstance(error, SystemExit):
        return f"its process ended with status {error.code}" if isinstance(error.code, int) else str(error.code)
    return f"{type(error).__name__}: {error}"
