"""The end of a trial's process: all that an interpreter does at its end, save taking itself apart."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref

PATIENCE_SECONDS = 60.0


def wind_up(patience: float = PATIENCE_SECONDS) -> None:
    """Waits for the user's threads, runs what was registered for the exit and writes out what was printed.

    After this ``os._exit`` loses nothing; taking apart all imported modules would cost seconds for nothing. A thread
    that does not end keeps the trial's slots no longer than ``patience`` seconds.
    """
    try:
        _wait_for_threads(patience)
        _leave_operators()
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _wait_for_threads(patience: float) -> None:
    """What ``threading`` does at the end of an interpreter, in a thread of its own, for that knows no patience."""
    main = threading.current_thread()

    def others() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if not thread.daemon and thread is not main]

    def wait() -> None:
        for end in reversed(list(threading._threading_atexits)):  # type: ignore[attr-defined]
            end()  # the workers of concurrent.futures
        while found := others():
            found[0].join()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(patience)
    if waiting.is_alive():
        names = ", ".join(thread.name for thread in others())
        print(
            f"determined: the trial ends although these threads still run after {patience:.0f} s: {names}",
            file=sys.stderr,
        )


def _leave_operators() -> None:
    """PyTorch would take the operators that it registered away again, one by one: in a fork of the warm worker, that
    copies 7,000 pages of memory, a quarter of the time of a trial that computes little."""
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        found = finalizer.peek()
        if found is not None and getattr(found[1], "__module__", None) == "torch.library":
            finalizer.atexit = False
