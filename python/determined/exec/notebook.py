"""Runs JupyterLab as a task: ``python -m determined.exec.notebook``.

It serves the directory in which it is started. The master decides who may use it; a shared secret excludes other users
of the machine. ``notebook_idle_type`` of the task's configuration defines when it is in use: ``kernels_or_terminals``
(one of them runs; the default), ``kernel_connections`` (a page has a kernel open) or ``activity`` (code runs, or ran in
the last minute).
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request
from typing import Any

from determined.exec import _service

PACKAGES = ("jupyterlab==4.6.6",)
_START_SECONDS = 300.0
_ACTIVE_SECONDS = 60.0
_LOOK_SECONDS = 0.2
_END_SECONDS = 10.0


def main() -> int:
    """Serves until JupyterLab ends; returns its status."""
    service = _service.Service()
    python = _service.environment_with("jupyterlab", "JupyterLab", *PACKAGES) or sys.executable
    _service.end_on_signals()
    with tempfile.TemporaryDirectory(prefix="notebook-") as runtime:
        server = subprocess.Popen(
            [python, "-m", "jupyterlab", *settings(service)],
            env={**os.environ, "JUPYTER_TOKEN": service.secret, "JUPYTER_RUNTIME_DIR": runtime},
        )
        try:
            port = wait_for_port(server, pathlib.Path(runtime))
            if port is None:
                return server.wait() or 1
            lab = Lab(service, port)
            lab.wait()
            service.ready(port)
            print(f"Jupyter Notebook is running at: {service.base}", flush=True)
            kind = str(service.config.get("notebook_idle_type") or "kernels_or_terminals")
            service.watch(lambda: lab.is_idle(kind))
            return server.wait()
        except (_service.Refused, TimeoutError) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            server.terminate()
            try:
                server.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()


def settings(service: _service.Service) -> list[str]:
    """The settings of JupyterLab. They do not contain the secret, because every user can read command lines."""
    return [
        "--no-browser",
        "--allow-root",
        f"--ServerApp.ip={service.host}",
        "--ServerApp.port=0",
        f"--ServerApp.base_url={service.base}",
        f"--ServerApp.root_dir={os.getcwd()}",
        "--ServerApp.allow_remote_access=True",  # it is called by the master's name
        "--ServerApp.trust_xheaders=True",
        "--ServerApp.quit_button=False",  # a task is ended with det
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]


def wait_for_port(server: subprocess.Popen[bytes], runtime: pathlib.Path) -> int | None:
    """Returns JupyterLab's port; None if it has ended."""
    end = time.monotonic() + _START_SECONDS
    while server.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            try:
                if port := int(json.loads(path.read_text())["port"]):
                    return port
            except (ValueError, KeyError):
                pass  # half written
        if time.monotonic() > end:
            raise TimeoutError(f"JupyterLab did not start within {_START_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)
    return None


class Lab:
    """The API of JupyterLab."""

    def __init__(self, service: _service.Service, port: int) -> None:
        self._service = service
        self._url = f"http://127.0.0.1:{port}{service.base}api/"
        self._direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self._service.secret}"}
        with self._direct.open(urllib.request.Request(self._url + path, headers=headers), timeout=30) as reply:
            return json.loads(reply.read())

    def wait(self) -> None:
        """Waits until it answers."""
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.get("status")
                return
            except OSError as error:
                if time.monotonic() > end:
                    raise TimeoutError(f"JupyterLab does not answer: {error}") from None
            time.sleep(_LOOK_SECONDS)

    def is_idle(self, kind: str) -> bool:
        """Whether it is not in use, by one of the definitions above."""
        kernels: list[dict[str, Any]] = self.get("kernels")
        if kind == "kernel_connections":
            return not any(kernel["connections"] for kernel in kernels)
        if kind == "activity":
            return not any(
                kernel["execution_state"] == "busy" or _recent(kernel["last_activity"]) for kernel in kernels
            )
        return not kernels and not self.get("terminals")


def _recent(moment: str) -> bool:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now - datetime.datetime.fromisoformat(moment)).total_seconds() < _ACTIVE_SECONDS


if __name__ == "__main__":
    sys.exit(main())
