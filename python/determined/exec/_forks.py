"""Runs trials of an experiment one after the other, each in a fork of this process, which does nothing else.

So the next trial finds a process as new as the first one did, but the namespaces and the process above it are there
already: one fork in place of three.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import pickle
import signal
import sys
from collections.abc import Callable

from determined.exec._leftovers import Leftovers

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1


def run(directory: str, trial: Callable[[], int], another: Callable[[Callable[[], None]], bool]) -> int:
    """Runs ``trial`` in a fork for as long as trials succeed, leave nothing behind and ``another`` has one more.

    Where one trial has followed another one, there will be more: the next fork is made while this process waits for its
    trial. ``another`` sets the environment and the working directory, which the fork takes over.

    Returns the exit status of the last one; if a signal ended it, the same signal ends this process.
    """
    leftovers = Leftovers(directory)
    ready: _Fork | None = None

    def tidy_up() -> None:
        nonlocal ready
        leftovers.remove()
        if follows:
            ready = _Fork(trial)

    follows = False
    while True:
        fork, ready = ready if ready is not None and ready.waits() else _Fork(trial), None
        status = fork.run()
        if status != 0 or not leftovers.can_be_removed():
            return status
        if not another(tidy_up):
            if ready is not None:
                ready.dismiss()
            return status
        follows = True


class _Fork:
    """A fork of this process that waits until ``run`` or ``dismiss``."""

    def __init__(self, trial: Callable[[], int]) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # the fork takes none before it starts
        parent = os.getpid()
        waiting, self._start = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._start)
            status = 1
            try:
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() == parent and _take_over(waiting):
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
                    status = trial()
            finally:
                os._exit(status & 0xFF)
        os.close(waiting)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)

    def waits(self) -> bool:
        """Whether it is still there: it may have been killed meanwhile."""
        if os.waitpid(self._child, os.WNOHANG)[0] == 0:
            return True
        os.close(self._start)
        return False

    def run(self) -> int:
        """Runs the trial in the environment that this process has now. Returns its exit status, or minus the signal
        that ended it, which then also ends this process.
        """
        before = {number: signal.getsignal(number) for number in _FORWARDED}

        def forward(number: int, _: object) -> None:
            if number != signal.SIGUSR2 or _catches(self._child, number):  # which asks where it hangs
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(self._child, number)

        for number in _FORWARDED:
            signal.signal(number, forward)
        with contextlib.suppress(BrokenPipeError), os.fdopen(self._start, "wb") as start:  # it may be killed here, too
            pickle.dump((os.getcwd(), dict(os.environb)), start)
        ended = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        for number, handler in before.items():
            signal.signal(number, handler)
        if ended < 0:
            with contextlib.suppress(OSError):  # there is no handler of SIGKILL
                signal.signal(-ended, signal.SIG_DFL)
            os.kill(os.getpid(), -ended)
        return ended

    def dismiss(self) -> None:
        """Ends it: there is no other trial."""
        if self.waits():
            os.close(self._start)
            os.waitpid(self._child, 0)


def _take_over(waiting: int) -> bool:
    """Waits for working directory and environment; False: for nothing."""
    with os.fdopen(waiting, "rb") as start:
        content = start.read()
    if not content:
        return False
    directory, environment = pickle.loads(content)
    os.chdir(directory)
    for name in [name for name in os.environb if name not in environment]:
        del os.environb[name]
    for name, value in environment.items():
        if os.environb.get(name) != value:
            os.environb[name] = value
    return True


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
