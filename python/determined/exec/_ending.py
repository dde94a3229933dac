"""The end of a trial's process: all that an interpreter does at its end, save taking itself apart."""

from __future__ import annotations

import atexit
import sys
import threading


def wind_up() -> None:
    """Waits for the user's threads, runs what was registered for the exit and writes out what was printed.

    After this ``os._exit`` loses nothing; taking apart all imported modules would cost seconds for nothing.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
