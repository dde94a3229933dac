"""Keeps one pilot: runs its script, and ends with all that came from it.

Standard input is a socket of whoever started this program. The first line that it sends is what to run; a later
{"end": SECONDS} gives the pilot that long to leave. When the socket closes, everything is killed at once. At the end
the socket is told {"code": …, "last": the last line that the pilot wrote}.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

SET_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)


def main():
    if os.fork():
        os._exit(0)  # Ray kills the children of its workers, without theirs
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    LIBC.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    link = Link(socket.socket(fileno=0))
    work = link.next_line()
    if work is None:
        return
    out = log_of(work)
    pilot = subprocess.Popen(
        ["bash", "-s"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=work["environment"],
        preexec_fn=die_with_parent,
        start_new_session=True,
    )
    with contextlib.suppress(BrokenPipeError):
        pilot.stdin.write(work["script"].encode())
        pilot.stdin.close()
    last = watch(link, pilot, out, work.get("limit"), work["grace"])
    kill_all()
    code = pilot.wait()
    shutil.rmtree(f"{work['work_dir']}/{work['base_name']}.{pilot.pid}", ignore_errors=True)
    with contextlib.suppress(OSError):
        link.socket.sendall((json.dumps({"code": code, "last": last}) + "\n").encode())


def watch(link, pilot, out, limit, grace):
    """Returns when the pilot has ended, or should be killed; the last line of its output."""
    deadline, asked = (None, False) if limit is None else (time.monotonic() + limit, False)
    output, last, tail = pilot.stdout, b"", b""
    sources = [link.socket, output]
    while pilot.poll() is None:
        left = None if deadline is None else max(0, deadline - time.monotonic())
        ready, _, _ = select.select(sources, [], [], 0.2 if output not in sources else left)
        if output in ready:
            text = os.read(output.fileno(), 65536)
            if not text:
                sources.remove(output)
            out.write(text)
            out.flush()
            *lines, tail = (tail + text)[-4096:].split(b"\n")
            last = next((line for line in reversed(lines) if line.strip()), last)
        if link.socket in ready:
            message = link.next_line()
            if message is None:
                break
            deadline, asked = time.monotonic() + message["end"], True
            pilot.terminate()
        if deadline is not None and time.monotonic() >= deadline:
            if asked:
                break
            deadline, asked = time.monotonic() + grace, True
            pilot.terminate()
    while output in sources and select.select([output], [], [], 0)[0] and (text := os.read(output.fileno(), 65536)):
        out.write(text)
        *lines, tail = (tail + text)[-4096:].split(b"\n")
        last = next((line for line in reversed(lines) if line.strip()), last)
    out.flush()
    return (tail if tail.strip() else last).decode(errors="replace").strip()


class Link:
    """Lines of JSON from a socket."""

    def __init__(self, link):
        self.socket, self.kept = link, b""

    def next_line(self):
        """None: the other side is gone."""
        while b"\n" not in self.kept:
            try:
                text = self.socket.recv(65536)
            except OSError:
                text = b""
            if not text:
                return None
            self.kept += text
        line, _, self.kept = self.kept.partition(b"\n")
        return json.loads(line)


def log_of(work):
    """A file beside those of other pilots where their directory is on this machine, else standard output."""
    if os.path.isdir(work["log_dir"]):
        with contextlib.suppress(OSError):
            return open(f"{work['log_dir']}/{work['name']}.log", "ab")
    return sys.stdout.buffer


def die_with_parent():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    LIBC.prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


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


def kill_all():
    end = time.monotonic() + 10
    while (found := descendants()) and time.monotonic() < end:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if all(is_zombie(pid) for pid in found):
            return
        time.sleep(0.01)


def is_zombie(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    return True


if __name__ == "__main__":
    main()
