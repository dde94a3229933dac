"""The thread that sends a run to the master while the program goes on."""

from __future__ import annotations

import logging
import threading

from determined.common.api import errors
from determined.experimental.core_v2._heartbeat import Heartbeat
from determined.track._journal import Journal
from determined.track._sender import ReplacedError, Sender

logger = logging.getLogger("determined")

_EVERY_SECONDS = 1.0
_RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0)  # then the last


class Background:
    """Sends until everything is sent and :meth:`drain` was called. A master that does not answer is waited for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sender = Sender(journal)
        self._heartbeat: Heartbeat | None = None
        self._news = threading.Event()
        self._draining = threading.Event()
        self.begun = threading.Event()  # or given up
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="track", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def sender(self) -> Sender:
        return self._sender

    def drain(self, seconds: float | None) -> bool:
        """Waits until everything is sent. Returns whether it is."""
        self._draining.set()
        self._news.set()
        self._thread.join(seconds)
        return not self._thread.is_alive() and self.failure is None

    def _run(self) -> None:
        attempt = 0
        while True:
            try:
                self._begin()
                self._sender.send()
                attempt = 0
                if self._draining.is_set() and self._journal.sent == self._journal.size:
                    break
                pause = _EVERY_SECONDS
            except (errors.MasterNotFoundException, OSError) as error:
                if attempt == 0:
                    logger.warning("the run is kept in %s until the master answers: %s", self._journal.path, error)
                pause = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)]
                attempt += 1
            except (ReplacedError, errors.APIException, ValueError) as error:
                self.failure = error
                logger.warning("nothing more is sent of the run in %s, which keeps it: %s", self._journal.path, error)
                break
            except Exception as error:  # what is logged must not end the program
                self.failure = error
                logger.exception("the run in %s cannot be sent", self._journal.path)
                break
            self._news.wait(pause)
            self._news.clear()
        self.begun.set()
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._sender.close()

    def _begin(self) -> None:
        if self._heartbeat is not None:
            return
        info = self._sender.begin()
        self._heartbeat = Heartbeat(info)
        self._heartbeat.start()
        logger.info("tracked as %s/det/experiments/%d", info.master_url, info.trial.experiment_id)
        self.begun.set()
