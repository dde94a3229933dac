"""Runs a command and kills everything that came from it, daemons too, once standard input or the command ends.

Whoever started this program holds the other end of its standard input. So what it runs is gone when the starter closes
that end, and also when the starter is killed.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys

SET_CHILD_SUBREAPER = 36  # orphans become children of this process instead of children of process 1


def descendants():
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:
                children.setdefault(int(stat.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
    found = children.get(os.getpid(), [])
    for parent in found:  # it grows while it is read
        found += children.get(parent, [])
    return found


def reap():
    """Buries who has ended; the exit codes by process."""
    codes = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            codes[pid] = os.waitstatus_to_exitcode(status)
    return codes


def main():
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_IGN)  # they are meant for the starter, whose end is seen
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=_default_signals)
    code = None
    while code is None:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            code = reap().get(command.pid)
        if 0 in ready and not os.read(0, 4096):
            break
    while found := descendants():
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
    os._exit(0 if code is None else code & 0xFF)


def _default_signals():
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_DFL)


if __name__ == "__main__":
    main()
