"""The program of shell tasks: ``python -m determined.exec.shell``. It runs an SSH server (_sshd.py), and serves
terminals to browsers. Each WebSocket is one shell.

The client's first message is JSON: ``{"tty": true, "columns": 80, "rows": 24, "term": "xterm"}``, optionally with a
``command`` to run instead of a shell. After that, binary messages are input, and text messages are
``{"columns": …, "rows": …}`` (the size has changed) or ``{"end_of_input": true}``. From the server, binary messages are
output, with a first byte of 1 for standard output and 2 for standard error; the last message is ``{"exit": status}``,
a text. If the connection is lost, the shell receives SIGHUP.

Clients without flow control, such as browsers, set ``"window": bytes`` in the first message. The server then sends at
most that much output before the client acknowledges it with ``{"taken": bytes}``.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pwd
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Awaitable, Callable
from typing import Any

from determined.exec import _service, _sshd, _websocket

_PIECE_BYTES = 16 * 1024
_LAST_WORDS_SECONDS = 0.5
_HUNG_UP_SECONDS = 5.0

Send = Callable[[int, bytes], Awaitable[None]]


def main() -> int:
    """Serves until the process is ended. Returns the exit status."""
    _service.end_on_signals()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # shells inherit it; under nohup, they would ignore it
    service = _service.Service()
    ssh = None
    try:
        if not (key := os.environ.get("DET_SSH_PUBLIC_KEY")):
            raise RuntimeError("the master provided no key (DET_SSH_PUBLIC_KEY is not set)")
        ssh = _sshd.Server(service.host, key, _shell(), _environment({}))
    except (_sshd.Missing, RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"this shell has no SSH server, only terminals in the browser: {error}", file=sys.stderr, flush=True)
    asyncio.run(Shells(service, ssh).serve())
    return 0


class Shells:
    """All shells of the task."""

    def __init__(self, service: _service.Service, ssh: _sshd.Server | None) -> None:
        self._service, self._ssh = service, ssh
        self._open = 0

    async def serve(self) -> None:
        listener = self._service.listener()
        port = int(listener.getsockname()[1])
        server = await asyncio.start_server(self._connected, sock=listener)
        ssh_port, user = (self._ssh.port, self._ssh.user) if self._ssh else (0, "")
        await asyncio.to_thread(self._service.ready, port, ssh_port, user)
        print("the shell is ready", flush=True)
        self._service.watch(lambda: self._open == 0 and not (self._ssh and self._ssh.sessions()))
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = await _websocket.accept(reader, writer, self._service.allows)
        if socket is None:
            return
        self._open += 1
        try:
            with contextlib.suppress(_websocket.Closed):
                await _serve_one(socket)
        except Exception as error:
            print(f"the shell failed: {error!r}", file=sys.stderr, flush=True)
        finally:
            self._open -= 1
            await socket.close(_websocket.NORMAL)


async def _serve_one(socket: _websocket.WebSocket) -> None:
    try:
        first = await socket.receive()
        wanted = json.loads(first)
        if not isinstance(wanted, dict):
            raise ValueError
    except ValueError:
        await socket.close(_websocket.PROTOCOL_ERROR)
        return

    async def send(channel: int, data: bytes) -> None:
        await socket.send(bytes([channel]) + data)

    shell = _Shell(wanted, send)
    listening = asyncio.create_task(_listen(socket, shell))
    ending = asyncio.create_task(shell.end())
    try:
        await asyncio.wait({listening, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            await socket.send(json.dumps({"exit": ending.result()}))
    finally:
        for task in (listening, ending):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, _websocket.Closed, OSError, ValueError):
                await task
        await shell.hang_up()


async def _listen(socket: _websocket.WebSocket, shell: _Shell) -> None:
    while True:
        message = await socket.receive()
        if isinstance(message, bytes):
            await shell.input(message)
            continue
        change = json.loads(message)
        if not isinstance(change, dict):
            raise ValueError("the message must be a JSON object")
        if change.get("end_of_input"):
            await shell.end_input()
        elif "columns" in change:
            shell.resize(change)
        elif "taken" in change:
            shell.taken(int(change["taken"]))


class _Shell:
    """A process with its input and output, on a terminal or on pipes."""

    def __init__(self, wanted: dict[str, Any], send: Send) -> None:
        self._terminal: int | None = None
        if wanted.get("tty"):
            self._terminal, inner = os.openpty()
            _set_size(self._terminal, wanted)
            theirs, ours = [inner], [(1, self._terminal)]
            self._input = os.dup(self._terminal)
        else:
            (stdin, self._input), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
            theirs, ours = [stdin, stdout, stderr], [(1, out), (2, err)]
        self._ours = [fd for _, fd in ours]
        try:
            self._process = _start(wanted, theirs)
        except OSError:
            self._close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        for fd in (self._input, *self._ours):
            os.set_blocking(fd, False)
        self._ended = os.pidfd_open(self._process.pid)
        self._window = _Window(int(wanted.get("window") or 0))
        self._moved = 0  # bytes of output
        self._waiting = 0  # pieces of output that the client has to take first
        self._pumps = [asyncio.create_task(self._pump(fd, channel, send)) for channel, fd in ours]

    async def input(self, data: bytes) -> None:
        """Writes input; waits until the process has accepted it."""
        while data and self._input >= 0:
            try:
                data = data[os.write(self._input, data) :]
            except BlockingIOError:
                await _until(self._input, write=True)
            except OSError:
                return  # the process has closed its input, or ended

    async def end_input(self) -> None:
        if self._terminal is not None:
            await self.input(b"\x04")
        elif self._input >= 0:
            os.close(self._input)
            self._input = -1

    def resize(self, size: dict[str, Any]) -> None:
        """Changes the size of the terminal, if there is one."""
        if self._terminal is not None:
            _set_size(self._terminal, size)

    def taken(self, count: int) -> None:
        self._window.taken(count)

    async def end(self) -> int:
        """Waits for the process and the rest of its output. Returns its status, or 128 + the signal that ended it."""
        await _until(self._ended)
        code = self._process.wait()
        moved = -1
        while (self._waiting or moved != self._moved) and not all(pump.done() for pump in self._pumps):
            moved = self._moved
            await asyncio.wait(self._pumps, timeout=_LAST_WORDS_SECONDS)
        return code if code >= 0 else 128 - code

    async def hang_up(self) -> None:
        """Ends the process if it is still running. Its background processes continue."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.wait(self._pumps)
        self._close()
        for number in (signal.SIGHUP, signal.SIGKILL):
            if self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(_until(self._ended), _HUNG_UP_SECONDS)
        self._process.poll()
        os.close(self._ended)

    def _close(self) -> None:
        for fd in (self._input, *self._ours):
            if fd >= 0:
                os.close(fd)
        self._input = -1

    async def _pump(self, source: int, channel: int, send: Send) -> None:
        while True:
            try:
                data = os.read(source, _PIECE_BYTES)
            except BlockingIOError:
                await _until(source)
                continue
            except OSError:
                return  # no process has the terminal open
            if not data:
                return
            self._waiting += 1
            try:
                await self._window.take(len(data))
                await send(channel, data)
            except _websocket.Closed:
                return
            finally:
                self._waiting -= 1
            self._moved += len(data)


class _Window:
    """Blocks output while ``size`` bytes or more are unacknowledged; never if ``size`` is 0."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._under_way = 0
        self._open = asyncio.Event()
        self._open.set()

    async def take(self, count: int) -> None:
        """Waits until ``count`` bytes may be sent."""
        while not self._open.is_set():
            await self._open.wait()
        self._move(count)

    def taken(self, count: int) -> None:
        """The client has acknowledged ``count`` bytes."""
        self._move(-max(0, count))

    def _move(self, count: int) -> None:
        self._under_way = max(0, self._under_way + count)
        if self._size <= 0 or self._under_way < self._size:
            self._open.set()
        else:
            self._open.clear()


def _login_tty(terminal: int) -> None:
    """As os.login_tty of Python 3.11: the terminal becomes that of a new session, and its standard streams."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(terminal, stream)
    if terminal > 2:
        os.close(terminal)


def _start(wanted: dict[str, Any], theirs: list[int]) -> subprocess.Popen[bytes]:
    environment = _environment(wanted)
    if len(theirs) == 1:
        terminal = theirs[0]
        return subprocess.Popen(_command(wanted), preexec_fn=lambda: _login_tty(terminal), env=environment)
    stdin, stdout, stderr = theirs
    return subprocess.Popen(
        _command(wanted), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, env=environment
    )


async def _until(fd: int, write: bool = False) -> None:
    """Waits until a descriptor is readable or, with ``write``, writable."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    add(fd, wake)
    try:
        await ready
    finally:
        remove(fd)


def _set_size(terminal: int, size: dict[str, Any]) -> None:
    rows, columns = (max(1, min(int(size.get(name) or 0), 10_000)) for name in ("rows", "columns"))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _shell() -> str:
    shell = os.environ.get("SHELL", "")
    if not shell:
        with contextlib.suppress(KeyError):
            shell = pwd.getpwuid(os.getuid()).pw_shell
    if not shell or not os.access(shell, os.X_OK) or shell.endswith(("/nologin", "/false")):
        shell = shutil.which("bash") or "/bin/sh"
    return shell


def _command(wanted: dict[str, Any]) -> list[str]:
    return [_shell(), "-c", str(wanted["command"])] if wanted.get("command") else [_shell()]


def _environment(wanted: dict[str, Any]) -> dict[str, str]:
    environment = {**os.environ, "TERM": str(wanted.get("term") or "dumb")}
    own = os.path.dirname(sys.executable)
    environment["PATH"] = f"{own}:{environment.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"
    return environment


if __name__ == "__main__":
    sys.exit(main())
