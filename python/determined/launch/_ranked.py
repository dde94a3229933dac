"""Runs a worker's command and prefixes each line of its output with ``[rank=N] ``, which the master reads.

It is run by its path, ``python -I -S _ranked.py COMMAND …``, so that no worker waits for the import of the package.

The worker replaces this process, so exit statuses and signals are its own. A separate process, which is not its child,
copies its two streams line by line, so that the lines of several ranks do not mix.
"""

import contextlib
import fcntl
import os
import re
import select
import signal
import sys
import time

_LONGEST_LINE = 64 << 10  # what is longer without an end is cut
# A progress bar ends its lines with carriage returns alone; of a last one nobody knows yet what follows.
_LINE_END = re.compile(rb"\r?\n|\r(?!\Z)")
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Lines:
    """Splits a stream of bytes into lines with a prefix."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._rest = b""

    def take(self, data: bytes) -> bytes:
        """Returns the lines that are complete."""
        data = self._rest + data
        ready, at = [], 0
        for found in _LINE_END.finditer(data):
            line, at = data[at : found.end()], found.end()
            ready.append(line if line == b"\r" else self._prefix + line)
        self._rest = data[at:]
        while len(self._rest) > _LONGEST_LINE:
            ready.append(self._prefix + self._rest[:_LONGEST_LINE] + b"\n")
            self._rest = self._rest[_LONGEST_LINE:]
        return b"".join(ready)

    def end(self) -> bytes:
        """Returns the last line, if it is not terminated."""
        rest, self._rest = self._rest, b""
        return self._prefix + rest + b"\n" if rest else b""


def copy(sources: "dict[int, int]", prefix: bytes, worker: int) -> None:
    """Copies each source to its target until all are closed; the last unterminated line is copied when the worker has
    ended.
    """
    lines = {source: Lines(prefix) for source in sources}
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    alive = -1
    with contextlib.suppress(OSError):  # an old kernel; then the ends of the streams tell
        alive = os.pidfd_open(worker)
        poll.register(alive, select.POLLIN)
    while lines:
        ready = [number for number, _ in poll.poll()]
        for source in [number for number in ready if number in lines]:
            data = os.read(source, 1 << 16)
            if data:
                _write(sources[source], lines[source].take(data))
            else:
                _write(sources[source], lines.pop(source).end())
                poll.unregister(source)
        if ready == [alive]:  # and nothing is left to read
            poll.unregister(alive)
            for source, waiting in lines.items():
                _write(sources[source], waiting.end())


def _write(target: int, data: bytes) -> None:
    if not data:
        return
    with contextlib.suppress(OSError):  # the other ranks' lines are long, too
        fcntl.lockf(target, fcntl.LOCK_EX)
    try:
        while data:
            try:
                data = data[os.write(target, data) :]
            except BlockingIOError:
                time.sleep(0.01)
    finally:
        with contextlib.suppress(OSError):
            fcntl.lockf(target, fcntl.LOCK_UN)


def _prefixed(rank: str) -> None:
    """Prefixes the output of this process with its rank from now on."""
    worker = os.getpid()
    pipes = {target: os.pipe() for target in (1, 2)}
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.setsid()
            for number in _IGNORED:
                signal.signal(number, signal.SIG_IGN)
            for _, write in pipes.values():
                os.close(write)
            with contextlib.suppress(OSError):  # nobody reads any more
                copy({read: target for target, (read, _) in pipes.items()}, b"[rank=%s] " % rank.encode(), worker)
        os._exit(0)
    os.waitpid(child, 0)
    for target, (_, write) in pipes.items():
        os.dup2(write, target)


def main() -> int:
    """Replaces this process with the command; returns only on failure."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        _prefixed(os.environ.get("RANK", "0"))
    command = sys.argv[1:]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
