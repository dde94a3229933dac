"""A run: what a program logs, in a directory of its own, and sent to the master from there."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import pathlib
import secrets
import shutil
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from determined import _arguments, _metrics
from determined.experimental.core_v2._heartbeat import Exit, describe
from determined.tensorboard._board import _number
from determined.tensorboard._events import EventFile, field
from determined.track._background import Background
from determined.track._journal import Journal
from determined.track._media import Media, Table, Text

logger = logging.getLogger("determined")

BEGIN_SECONDS = 10.0  # that init waits for the master's answer
FINISH_SECONDS = 60.0


def home() -> pathlib.Path:
    """Where runs are kept that name no directory."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return pathlib.Path(os.environ.get("DET_TRACK_DIR") or pathlib.Path(data) / "determined" / "track")


class Run:
    """A tracked run; :func:`determined.track.init` returns one.

    Every call returns once the record is in the run's directory. Threads may call at once, and so may processes that
    this one forks, with a ``step`` of their own.
    """

    def __init__(self, journal: Journal, identifier: str, *, online: bool, resumed: bool = False) -> None:
        self.id = identifier
        self.directory = journal.path
        self._journal = journal
        self._lock = threading.RLock()
        self._owner = self._process = os.getpid()
        self._events: EventFile | None = None
        self._step = 0
        self._resumed = resumed
        self._finished = False
        self._exit = Exit()
        self._exit.watch()
        self._background = Background(journal) if online else None
        if self._background is not None:
            journal.lock_for_sending()
            self._background.start()

    @property
    def experiment_id(self) -> int | None:
        """The number of the experiment; None until the master has answered."""
        info = self._background.sender.info if self._background is not None else None
        return info.trial.experiment_id if info is not None else None

    @property
    def url(self) -> str | None:
        """The page of the run; None until the master has answered."""
        info = self._background.sender.info if self._background is not None else None
        return f"{info.master_url}/det/experiments/{info.trial.experiment_id}" if info is not None else None

    def await_begin(self, seconds: float) -> None:
        """Raises what the master says against the run. A master that does not answer is no reason to wait longer."""
        if self._background is None:
            return
        self._background.begun.wait(seconds)
        if self._background.failure is not None:
            failure = self._background.failure
            self._exit.unwatch()
            self._finished = True
            raise failure

    def log(self, values: Mapping[str, Any], step: int | None = None, *, group: str = "training") -> None:
        """Records values of a step: numbers, and :class:`Image`, :class:`Histogram`, :class:`Table`, :class:`Text` or
        :class:`Audio`. Without ``step``, it is the one after the last. What is logged twice for a step must be equal.

        Raises:
            TypeError: ``values`` is not a dict, or JSON cannot represent a value.
            ValueError: ``step`` is not a whole number, or ``group`` not a name.
            RuntimeError: the run has ended.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"values is a {type(values).__name__}; it must be a dict from name to value")
        if not isinstance(group, str) or not group or "." in group:
            raise ValueError(f"group is {group!r}; it must be a name without a dot")
        for name in values:
            if not isinstance(name, str) or not name:
                raise ValueError(f"values has the key {name!r}; it must be a name")
        plain = {name: _plain(name, value) for name, value in values.items() if not isinstance(value, Media)}
        media = {name: value for name, value in values.items() if isinstance(value, Media)}
        at = time.time()
        with self._open():
            number = self._next_step() if step is None else _arguments.whole(step, "step")
            self._step = number
            self._show(group, number, plain, media, at)
            if plain:
                self._write({"kind": "metrics", "group": group, "step": number, "metrics": plain}, at)

    def log_text(self, name: str, text: str, step: int | None = None) -> None:
        self.log({name: Text(text)}, self._step if step is None else step)

    def log_artifact(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        step: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Copies a file or a directory, and stores it as a checkpoint of the run. Returns the UUID of that.

        Raises:
            FileNotFoundError: there is no such file.
        """
        source = pathlib.Path(path)
        if not source.exists():
            raise FileNotFoundError(f"{source} does not exist; pass a file or a directory")
        identifier = str(uuid.uuid4())
        with self._open():
            draft = self.directory / "files" / f".{identifier}"
            if source.is_dir():
                shutil.copytree(source, draft)
            else:
                draft.mkdir(parents=True)
                shutil.copy2(source, draft / source.name)
            os.replace(draft, self.directory / "files" / identifier)
            record = {
                "kind": "artifact",
                "uuid": identifier,
                "name": name or source.name,
                "step": self._step if step is None else _arguments.whole(step, "step"),
                "metadata": dict(metadata or {}),
            }
            self._write(record, time.time())
        return identifier

    def set_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Sets what is known of the run besides its metrics, such as a final score; replaces the previous."""
        if not isinstance(metadata, Mapping):
            raise TypeError(f"metadata is a {type(metadata).__name__}; it must be a dict")
        with self._open():
            self._write({"kind": "metadata", "metadata": dict(metadata)}, time.time())

    def finish(self, error: str | BaseException | None = None, timeout: float | None = FINISH_SECONDS) -> bool:
        """Ends the run: as completed, or with ``error`` as failed. Waits at most ``timeout`` seconds until everything
        is sent, and returns whether it is; what is not stays in the directory for ``python -m determined.track sync``.
        """
        if self._finished or os.getpid() != self._owner:
            return True
        failure = describe(error) if isinstance(error, BaseException) else error or self._exit.failure
        with self._open():
            self._write({"kind": "end", "error": failure}, time.time())
            self._finished = True
            self._journal.sync()
            if self._events is not None:
                self._events.close()
        self._exit.unwatch()
        if self._background is None:
            logger.info("the run is in %s; send it with: python -m determined.track sync %s", *[self.directory] * 2)
            self._journal.close()
            return True
        sent = self._background.drain(timeout)
        if sent:
            self._journal.close()
        else:
            logger.warning(
                "not all of the run was sent; send the rest with: python -m determined.track sync %s", self.directory
            )
        return sent

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.finish(error)

    @contextlib.contextmanager
    def _open(self) -> Any:
        """Holds the lock; in a process that was forked, with files of its own."""
        if os.getpid() != self._process:
            self._lock, self._events, self._process = threading.RLock(), None, os.getpid()
            self._journal.reopen()
        with self._lock:
            if self._finished:
                raise RuntimeError(f"run {self.id} has ended; call track.init() to begin another")
            yield

    def _next_step(self) -> int:
        if self._resumed and self._step == 0:
            known = self._journal.get("remote.json")
            if known is None:
                raise ValueError("step is not given, and how far the resumed run is, the master knows; pass step")
            self._step = known["steps"]
        return self._step + 1

    def _write(self, record: dict[str, Any], at: float) -> None:
        self._journal.append({"time": at, **record})

    def _show(self, group: str, step: int, plain: Mapping[str, Any], media: Mapping[str, Media], at: float) -> None:
        if self._events is None:
            self._events = EventFile(self.directory / "events", f"track-{secrets.token_hex(4)}")
        prefix = "" if group == "training" else f"{group}/"
        numbers = {f"{prefix}{name}": n for name, value in plain.items() if (n := _number(value)) is not None}
        if numbers:
            self._events.scalars(step, numbers, at)
        for name, value in media.items():
            tag = f"{prefix}{name}"
            self._events.values(step, field(1, field(1, tag.encode()) + value.encoded()), at)
            if isinstance(value, Table):
                kept = self.directory / "events" / "tables" / f"{tag.replace('/', '_')}-{step}.json"
                kept.parent.mkdir(exist_ok=True)
                kept.write_text(_metrics.to_json({"columns": value.columns, "rows": value.rows}, name))


def _plain(name: str, value: Any) -> Any:
    """The value as it is stored: a number where it is one. Raises TypeError."""
    value = _arguments.detached(value)
    if getattr(value, "size", None) == 1 or getattr(value, "ndim", None) == 0:
        value = value.item() if hasattr(value, "item") else value
    _metrics.to_json(value, f"values[{name!r}]")
    return value


def begin(description: Mapping[str, Any], *, directory: pathlib.Path | None, online: bool, resumed: bool) -> Run:
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    path = directory or home() / f"{stamp}-{secrets.token_hex(4)}"
    journal = Journal.create(path.absolute(), {**description, "time": time.time()})
    return Run(journal, str(description["id"]), online=online, resumed=resumed)


def texts(values: Sequence[str] | None, name: str) -> list[str]:
    if values is None:
        return []
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is {values!r}; it must be a list of strings")
    return list(values)
