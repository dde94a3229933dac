"""The end of a trial's process: all that an interpreter does at its end, save taking itself apart."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref


def wind_up() -> None:
    """Waits for the user's threads, runs what was registered for the exit and writes out what was printed.

    After this ``os._exit`` loses nothing; taking apart all imported modules would cost seconds for nothing.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        _leave_operators()
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _leave_operators() -> None:
    """PyTorch would take the operators that it registered away again, one by one: in a fork of the warm worker, that
    copies 7,000 pages of memory, a quarter of the time of a trial that computes little."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        found = finalizer.peek()
        if found is not None and getattr(found[1], "__module__", None) == "torch.library":
            finalizer.atexit = False
