"""The end of a trial's process: everything that an interpreter does at its end, except for clearing its modules."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 60.0


def wind_up(patience: float = PATIENCE_SECONDS) -> None:
    """Waits for the user's threads, runs the registered exit functions, and flushes the output.

    After this, ``os._exit`` loses nothing, and saves the seconds that clearing all imported modules takes. A thread
    that does not end keeps the trial's slots for at most ``patience`` seconds.
    """
    try:
        _wait_for_threads(patience)
        leave_operators()
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _wait_for_threads(patience: float) -> None:
    """Does what ``threading`` does at the end of an interpreter, in a thread of its own, because it has no timeout."""
    main = threading.current_thread()
    ends = list(threading._threading_atexits)  # type: ignore[attr-defined]

    def others() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if not thread.daemon and thread is not main]

    def wait() -> None:
        for end in reversed(ends):
            end()  # the workers of concurrent.futures
        while found := others():
            found[0].join()

    if not others() and all(_waits_for_executors(end) for end in ends):
        wait()  # not long
        return
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(patience)
    if waiting.is_alive():
        names = ", ".join(thread.name for thread in others())
        print(
            f"determined: the trial ends although these threads still run after {patience:.0f} s: {names}",
            file=sys.stderr,
        )


def _waits_for_executors(end: Callable[[], Any]) -> bool:
    function = getattr(end, "func", end)
    return str(getattr(function, "__module__", "")).startswith("concurrent.futures.")


def leave_reports() -> None:
    """Prevents TorchDynamo from writing a report at the end that nobody logs. The warm worker does it for its forks."""
    for module, name in (("utils", "dump_compile_times"), ("eval_frame", "_log_traced_frames")):
        place = sys.modules.get(f"torch._dynamo.{module}")
        if (report := getattr(place, name, None)) is not None:
            atexit.unregister(report)
            atexit.register(_if_logged, report)


def _if_logged(report: Callable[[], None]) -> None:
    if logging.getLogger(report.__module__).isEnabledFor(logging.INFO):
        report()


def leave_operators() -> None:
    """Prevents PyTorch from removing its registered operators one by one, which would copy 7,000 pages of memory in a
    fork of the warm worker: a quarter of the time of a trial that computes little. The warm worker does it for its
    forks, which then need not look through all finalizers.
    """
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        found = finalizer.peek()
        if found is not None and getattr(found[1], "__module__", None) == "torch.library":
            finalizer.detach()
