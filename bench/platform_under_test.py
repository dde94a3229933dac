"""A platform for one benchmark: on a free port, in a directory that is deleted afterwards."""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = ROOT / "bench" / "models" / "tiny"


def det_program() -> str:
    """The `det` to measure: DET_PROGRAM, or the one of the release preset, or the one on PATH."""
    built = ROOT / "build" / "release" / "bin" / "det"
    program = os.environ.get("DET_PROGRAM") or (str(built) if built.exists() else shutil.which("det"))
    if program is None:
        sys.exit("found no `det`: build the release preset, or set DET_PROGRAM to its path")
    return program


class Platform:
    """A running platform, called over one kept-alive connection."""

    def __init__(self, process: subprocess.Popen[str], directory: pathlib.Path, port: int) -> None:
        self.process, self.directory, self.port = process, directory, port
        self.connection, self.used = self.connect(), time.monotonic()
        login = self.call("POST", "/api/v1/auth/login", {"username": "determined", "password": ""}, token="")
        self.token: str = login["token"]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def call(self, verb: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        """Makes one call; any status but 200 ends the benchmark."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        text = None if body is None else json.dumps(body)
        if time.monotonic() - self.used > 10:
            self.connection.close()  # the master may have closed it; the next request opens another
        self.used = time.monotonic()
        self.connection.request(verb, path, text, headers | {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        answer = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{verb} {path}: {reply.status} {answer[:500]!r}")
        return json.loads(answer) if answer else None

    def submit(self, model: pathlib.Path = TINY, config: str = "const.yaml", **extra: str) -> int:
        """Submits a model definition as the command line does; returns the experiment's id."""
        files = [
            {"path": path.name, "type": 48, "mode": 0o644, "content": base64.b64encode(path.read_bytes()).decode()}
            for path in sorted(model.iterdir())
            if path.is_file()
        ]
        text = (model / config).read_text() + "".join(f"{key}: {value}\n" for key, value in extra.items())
        created = self.call("POST", "/api/v1/experiments", {"config": text, "modelDefinition": files, "activate": True})
        return int(created["experiment"]["id"])

    def state(self, experiment: int) -> str:
        return str(self.call("GET", f"/api/v1/experiments/{experiment}")["experiment"]["state"])

    def wait_until_over(self, experiment: int, seconds: float = 120) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = self.state(experiment).removeprefix("STATE_")
            if state in ("COMPLETED", "ERROR", "CANCELED"):
                return state
            time.sleep(0.02)
        raise TimeoutError(f"experiment {experiment} is still running after {seconds} s")


@contextlib.contextmanager
def platform(*options: str, server: str = "up", until_exit: bool = False) -> Iterator[Platform]:
    """Runs `det up` (or `det master`) with these options; afterwards stops it and deletes its directory.

    With `until_exit`, the directory is deleted at the end of the benchmark: for some minutes after thousands of files
    were deleted, ext4 takes much longer to create one, which would be counted against the next platform.
    """
    directory = pathlib.Path(tempfile.mkdtemp(prefix="det-bench-"))
    delete = functools.partial(shutil.rmtree, directory, ignore_errors=True)
    agent = ("--python", sys.executable, "--python-path", str(ROOT / "python")) if server == "up" else ()
    config = directory / "master.yaml"
    config.write_text("security: {rate_limit: {per_second: 0}}\n")  # one user asks for everything
    command: Sequence[str] = (
        det_program(), server, "--dir", str(directory / "state"), "--port", "0", "--config-file", str(config),
        *agent, *options,
    )  # fmt: skip
    output = directory / "output"
    with output.open("w") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, text=True)
    try:
        yield Platform(process, directory, _port(process, output))
    except BaseException:
        print(output.read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        if until_exit:
            atexit.register(delete)
        else:
            delete()


def _port(process: subprocess.Popen[str], output: pathlib.Path) -> int:
    for _ in range(600):
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", output.read_text()):
            return int(found[1])
        if process.poll() is not None:
            sys.exit(f"det ended with status {process.returncode}:\n{output.read_text()}")
        time.sleep(0.05)
    sys.exit(f"det printed no address within 30 s:\n{output.read_text()}")


def circumstances() -> str:
    """The conditions of a measurement: cores and load."""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def show(name: str, milliseconds: Sequence[float]) -> None:
    """Prints median, fastest and slowest of several runs."""
    print(
        f"{name}: median {statistics.median(milliseconds):.1f} ms, "
        f"fastest {min(milliseconds):.1f}, slowest {max(milliseconds):.1f} ({len(milliseconds)} runs)",
        flush=True,
    )
