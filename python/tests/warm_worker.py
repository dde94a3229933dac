"""Runs trials as an agent does: through the warm worker, with a task directory for each."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time
from typing import Any

START = [sys.executable, "-m", "determined.exec.warm"]
PYTHON = pathlib.Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


class WarmWorker:
    """A worker of one's own; ends when closed."""

    def __init__(self) -> None:
        self._client, served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        move = f"import os, sys; os.dup2({served.fileno()}, 3); os.execv({START[0]!r}, {START!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", move],
            pass_fds=[served.fileno()],
            cwd=PYTHON,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        served.close()

    def ask(self, request: Any) -> Any:
        self._client.send(json.dumps(request).encode())
        return json.loads(self._client.recv(1 << 16))

    def run(self, values: dict[str, str], task: pathlib.Path) -> Ended:
        """Runs a trial with this environment to its end."""
        return self.wait(self.start(values, task))

    def run_ranks(self, values: list[dict[str, str]], place: pathlib.Path) -> list[Ended]:
        """Runs the ranks of one trial to their ends."""
        place.mkdir()
        tasks = [self.start(one, place / str(rank)) for rank, one in enumerate(values)]
        return [self.wait(task) for task in tasks]

    def start(self, values: dict[str, str], task: pathlib.Path) -> pathlib.Path:
        lay_task(values, task)
        assert self.ask({"directory": str(task)})["pid"] > 0
        return task

    def wait(self, task: pathlib.Path) -> Ended:
        for _ in range(2400):
            if (task / "exit.json").exists():
                break
            time.sleep(0.02)
        ended = json.loads((task / "exit.json").read_text())
        return Ended(ended["code"], spooled(task, "stdout"), spooled(task, "stderr"))

    def close(self) -> int:
        self._client.close()
        return self._process.wait(20)


def lay_task(values: dict[str, str], task: pathlib.Path, **more: Any) -> None:
    """What an agent writes before it asks for a process; ``more`` goes into its specification."""
    task.mkdir()
    spec = {"command": [], "environment": values, "working_directory": values["DET_WORKDIR"], **more}
    (task / "spec.json").write_text(json.dumps(spec))
    (task / "start").touch()


def spooled(task: pathlib.Path, stream: str) -> str:
    """What the shim wrote down: frames of 8 bytes time, 4 bytes length, text."""
    text = b""
    for segment in sorted(task.glob(f"{stream}*")):
        content = b"".join(
            path.read_bytes() for path in ([segment] if segment.is_file() else sorted(segment.iterdir()))
        )
        at = 0
        while at < len(content):
            (length,) = struct.unpack_from("<I", content, at + 8)
            text += content[at + 12 : at + 12 + length]
            at += 12 + length
    return text.decode()
