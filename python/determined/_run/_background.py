"""A call that is made on a thread, while its caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """Makes one call at a time."""

    def __init__(self, name: str, *, daemon: bool = False) -> None:
        self._name = name
        self._daemon = daemon
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def start(self, body: Callable[[], None]) -> None:
        """The previous call must have been waited for."""

        def guarded() -> None:
            try:
                body()
            except BaseException as error:
                self._failure = error

        self._thread = threading.Thread(target=guarded, name=self._name, daemon=self._daemon)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Waits for the call, if there is one. Raises, once, what it raised."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
