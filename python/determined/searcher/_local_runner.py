"""Runs a search method in a program of the user."""

from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from determined.experimental._determined import Determined
from determined.searcher._method import SearchMethod
from determined.searcher._runner import Config, Includes, SearchRunner


class LocalSearchRunner(SearchRunner):
    """Runs the search method in this process, and stores its state in ``searcher_dir``.

    Another run with the same directory continues the experiment of the first one, wherever that was interrupted.
    """

    def __init__(
        self,
        search_method: SearchMethod,
        searcher_dir: str | os.PathLike[str] | None = None,
        master: Determined | None = None,
        patience: float = 600.0,
    ) -> None:
        super().__init__(search_method, master or Determined(), patience)
        self._directory = pathlib.Path(searcher_dir or "searcher-state")

    def run(
        self, exp_config: Config, model_dir: str | os.PathLike[str] | None = None, includes: Includes = None
    ) -> int:
        """Submits the experiment or resumes it, and runs it to its end. Returns its id.

        Raises:
            BadRequestException: the configuration, or an operation of the method, is invalid; the message says why.
            RuntimeError: another runner drives the experiment, or uses the directory.
            MasterNotFoundException: no master answered for more than ``patience`` seconds.
        """
        with self._alone():
            again = self._read(self._directory / "current")
            if self.state.experiment_id is not None:
                return self._go_on(self.state.experiment_id)
            if not self._mark:
                self._mark = f"# searched by runner {uuid.uuid4()}"
                self._save()
            return self._begin(self._submit(exp_config, model_dir, includes, again=again))

    def _save(self) -> None:
        """Writes a new directory and replaces the old one with it in one step."""
        fresh = self._directory / f"state-{os.getpid()}-{time.time_ns()}"
        self._write(fresh)
        for file in fresh.rglob("*"):
            if file.is_file():
                _sync(file)
        link = self._directory / "current.new"
        link.unlink(missing_ok=True)
        link.symlink_to(fresh.name)
        link.replace(self._directory / "current")
        _sync(self._directory)
        for old in self._directory.glob("state-*"):
            if old.name != fresh.name:
                shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Locks the directory, so that no second runner continues from the same state."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RuntimeError(f"another search runner is active in {self._directory}") from None
            yield


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
