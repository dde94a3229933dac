"""The directory of a tracked run: what it is, what was logged, and how much of that the master has.

::

    run.json        what the run is
    journal.jsonl   a record per line, in the order of the calls; only ever appended to
    events/         event files for TensorBoard, tables
    files/UUID/     the files of an artifact
    remote.json     which experiment and trial of the master it is
    sent            how many bytes of the journal the master has
    refused.jsonl   what the master refused, and why
    alive           locked by the process that writes
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from determined import _metrics

FORMAT = 1


class Journal:
    """The files of one run. Any process may append; one at a time may send."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._out = -1
        self._alive = -1
        self._sending = -1

    @classmethod
    def create(cls, path: pathlib.Path, description: Mapping[str, Any]) -> Journal:
        """Makes the directory. Raises FileExistsError: it has another run."""
        path.mkdir(parents=True, exist_ok=True)
        if (path / "run.json").exists():
            raise FileExistsError(f"{path} has a run already; pass another directory, or none")
        (path / "events").mkdir(exist_ok=True)
        made = cls(path)
        made._alive = os.open(path / "alive", os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(made._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made._out = os.open(path / "journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        made.put("run.json", {"format": FORMAT, **description})  # last: a directory with it is complete
        return made

    @classmethod
    def open(cls, path: pathlib.Path) -> Journal:
        """Opens a directory to send it. Raises FileNotFoundError or ValueError: it is no run's directory."""
        if not (path / "run.json").is_file():
            raise FileNotFoundError(f"{path} has no run.json; pass the directory of a run, as track.init() prints it")
        known = json.loads((path / "run.json").read_text())
        if known.get("format") != FORMAT:
            raise ValueError(
                f"{path}/run.json has the format {known.get('format')!r}, and this version reads {FORMAT}; use the "
                "version of determined that wrote it"
            )
        return cls(path)

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds a record. It survives the end of this process, however it ends."""
        line = memoryview((_metrics.to_json(dict(record), "record") + "\n").encode())
        fcntl.flock(self._out, fcntl.LOCK_EX)
        try:
            while line:
                line = line[os.write(self._out, line) :]
        finally:
            fcntl.flock(self._out, fcntl.LOCK_UN)

    def reopen(self) -> None:
        """After a fork: locks belong to open files, and parent and child must not share one."""
        os.close(self._out)
        self._out = os.open(self.path / "journal.jsonl", os.O_WRONLY | os.O_APPEND)

    def records(self, start: int) -> Iterator[tuple[dict[str, Any], int]]:
        """The complete records from this byte on, each with the position after it."""
        with open(self.path / "journal.jsonl", "rb") as lines:
            lines.seek(start)
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # is being written, or its process was killed
                start += len(line)
                yield json.loads(line), start

    @property
    def size(self) -> int:
        return (self.path / "journal.jsonl").stat().st_size

    @property
    def sent(self) -> int:
        found = self.get("sent")
        return int(found) if found is not None else 0

    @sent.setter
    def sent(self, position: int) -> None:
        self.put("sent", position)

    def get(self, name: str) -> Any:
        """A small file as JSON; None if it is not there."""
        try:
            return json.loads((self.path / name).read_text())
        except FileNotFoundError:
            return None

    def put(self, name: str, value: Any) -> None:
        draft = self.path / f".{name}.{os.getpid()}"
        draft.write_text(json.dumps(value))
        os.replace(draft, self.path / name)

    def refuse(self, record: Mapping[str, Any], why: str) -> None:
        with open(self.path / "refused.jsonl", "a") as out:
            out.write(json.dumps({"why": why, "record": record}) + "\n")

    def is_alive(self) -> bool:
        """Whether the process that writes this directory runs."""
        handle = os.open(self.path / "alive", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def lock_for_sending(self) -> bool:
        """Whether this process alone may send now, until :meth:`close`."""
        self._sending = os.open(self.path / "sending", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._sending, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._sending)
            self._sending = -1
            return False
        return True

    def sync(self) -> None:
        os.fsync(self._out)

    def close(self) -> None:
        for handle in (self._out, self._alive, self._sending):
            if handle >= 0:
                os.close(handle)
        self._out = self._alive = self._sending = -1
