"""Runs trials of an experiment one after the other, each in a fork of this process, which does nothing else.

So the next trial finds a process as new as the first one did, but the namespaces and the process above it are there
already: one fork in place of three.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import signal
import sys
from collections.abc import Callable

from determined.exec._leftovers import Leftovers

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1


def run(directory: str, trial: Callable[[], int], another: Callable[[Callable[[], None]], bool]) -> int:
    """Runs ``trial`` in a fork for as long as trials succeed, leave nothing behind and ``another`` has one more.

    Returns the exit status of the last one; if a signal ended it, the same signal ends this process.
    """
    leftovers = Leftovers(directory)
    while True:
        status = _run_in_fork(trial)
        if status != 0 or not leftovers.can_be_removed() or not another(leftovers.remove):
            return status


def _run_in_fork(trial: Callable[[], int]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # none comes before it is known where to
    before = {number: signal.getsignal(number) for number in _FORWARDED}
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() == parent:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
                status = trial()
        finally:
            os._exit(status & 0xFF)

    def forward(number: int, _: object) -> None:
        if number != signal.SIGUSR2 or _catches(child, number):  # which asks where it hangs
            os.kill(child, number)

    for number in _FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for number, handler in before.items():
        signal.signal(number, handler)
    if ended < 0:
        with contextlib.suppress(OSError):  # there is no handler of SIGKILL
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(parent, -ended)
    return ended


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
