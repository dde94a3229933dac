"""Watches the ranks of a trial: ends this one after another failed, and finds out why the ranks hang."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from determined._ranks import _meeting

EXIT_FOLLOWED = 81
"""The exit status of a rank that ended because another one ended."""
EXIT_HUNG = 82
"""The exit status of a rank that waited too long for the others."""
DEFAULT_SECONDS = 1800.0

_LOOK_SECONDS = 0.1
_CLAIM_SECONDS = 3.0
_ACT_SECONDS = 1.0
_SHIPPING_SECONDS = 0.4
_STACKS_SECONDS = 3.0
_GRACE_SECONDS = 10.0

_LOST_WORDS = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "connection refused",
    "connection was closed",
    "failed to recv",
    "remote process has exited",
    "nccl communicator was aborted",
    "connection error",
)
_GROUP_WORDS = ("gloo", "nccl", "processgroup", "process group", "tcpstore", "collective", "watchdog")


def is_lost_peer(error: BaseException) -> bool:
    """Whether an error means that another rank is gone, so that this rank is not its cause."""
    for at in _chain(error):
        text = str(at).lower()
        kind = type(at).__name__
        if kind in ("DistNetworkError",) or (
            isinstance(at, RuntimeError)
            and any(word in text for word in _LOST_WORDS)
            and (kind.startswith("Dist") or any(word in text for word in _GROUP_WORDS))
        ):
            return True
    return False


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 20:
        yield error
        error = error.__cause__ or error.__context__
        seen += 1


def say(text: str) -> None:
    """Prints a line to the trial's log."""
    with contextlib.suppress(ValueError, OSError):
        sys.stdout.flush()
        print(text, file=sys.stderr, flush=True)


class Watch:
    """One per process of a trial with several processes.

    A thread waits for another rank to claim the end, and checks whether this rank has waited for the others for more
    than ``limit`` seconds. The first rank with an error claims the end; all others follow it, and print one line.
    """

    def __init__(self, meeting: _meeting.Meeting, *, rank: int, size: int, limit: float) -> None:
        self._store = meeting.store
        self._rank = rank
        self._size = size
        self._limit = limit
        self._waiting: tuple[str, float] | None = None
        self._doing = "starting"
        self._leaving = False
        self._mine = False
        self.last_act: Callable[[], None] | None = None
        """What is still to be done when this rank follows another into the end; it has a second."""
        self._other = meeting.another_connection()
        self._thread = threading.Thread(target=self._run, name="determined-watch", daemon=True)
        self._thread.start()

    # ---- what the main thread says ----

    def note(self, doing: str) -> None:
        """Sets what this rank is doing; shown if the ranks hang."""
        self._doing = doing

    def begin(self, what: str) -> None:
        """Starts a wait for the other ranks."""
        self._waiting = (what, time.monotonic())

    def end(self) -> None:
        self._waiting = None

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        self.begin(what)
        try:
            yield
        finally:
            self._waiting = None

    def claim(self, kind: str, text: str) -> bool:
        """Returns True if this rank is the first to end. It may then explain why, and calls ``told`` afterwards."""
        said = json.dumps({"kind": kind, "rank": self._rank, "text": text[:500]})
        try:
            self._mine = self._store.compare_set("end", "", said).decode() == said
        except (RuntimeError, UnicodeDecodeError):
            return not self._gone()  # nobody is left to be first
        return self._mine

    def told(self, others: int | None = None) -> None:
        """Marks the explanation of this rank as written. Rank 0 keeps the store until the others have read it."""
        with contextlib.suppress(RuntimeError):
            self._store.set("told", "1")
            if self._rank == 0:
                self._await_others("followed", self._size - 1 if others is None else others, _CLAIM_SECONDS)

    def follow(self) -> None:
        """Waits to be ended by the claim of another rank; returns if there is none."""
        time.sleep(0.2)
        end = time.monotonic() + 2 * _CLAIM_SECONDS + _STACKS_SECONDS
        while self._claimed() and time.monotonic() < end:
            time.sleep(0.05)

    def leave(self) -> bool:
        """Ends the watch with the trial. Rank 0 waits until the others no longer need its store. Returns False after a
        failure.
        """
        self._leaving = True
        if self._claimed() or self._gone():
            return False
        with contextlib.suppress(RuntimeError):
            self._store.add("over", 1)
            if self._rank == 0:
                self._await_others("over", self._size, _GRACE_SECONDS)
        return True

    def rest(self) -> None:
        """Stops the thread: an interpreter that ends during a call of the store would abort."""
        self._leaving = True
        self._thread.join(timeout=5.0)

    def _await_others(self, key: str, count: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._store.add(key, 0) < count:
            time.sleep(0.005)

    def _claimed(self) -> bool:
        try:
            return bool(self._store.check(["end"]))
        except RuntimeError:
            return False

    def _gone(self) -> bool:
        try:
            self._store.check(["end"])
            return False
        except RuntimeError:
            return True

    # ---- the thread ----

    def _run(self) -> None:
        while not self._leaving:
            time.sleep(_LOOK_SECONDS * max(1.0, self._size / 64))  # one store answers them all
            try:
                if not self._other.check(["end"]):
                    self._look()
                    continue
                end = json.loads(self._other.get("end"))
            except RuntimeError:
                return self._store_lost()
            if end["rank"] == self._rank:
                return
            return self._follow(end)

    def _follow(self, end: dict[str, Any]) -> None:
        kind, rank, text = end["kind"], end["rank"], end["text"]
        if kind == "hung":
            self._dump(f"rank {rank} waits for the others; this one is {self._state()}")
            time.sleep(_STACKS_SECONDS)
        else:
            with contextlib.suppress(RuntimeError):
                until = time.monotonic() + _CLAIM_SECONDS
                while not self._other.check(["told"]) and time.monotonic() < until:
                    time.sleep(0.02)
            time.sleep(_SHIPPING_SECONDS)
        if kind == "failed":
            say(f"rank {self._rank} ends because rank {rank} failed: {text}")
        elif kind == "lost":
            say(f"rank {self._rank} ends because rank {rank} lost another one")
        self._act()
        with contextlib.suppress(RuntimeError):
            self._other.add("followed", 1)
        self._exit({"stopped": 0, "gone": 80}.get(kind, EXIT_FOLLOWED))

    def _act(self) -> None:
        if (act := self.last_act) is None:
            return

        def attempt() -> None:
            with contextlib.suppress(Exception):
                act()

        helper = threading.Thread(target=attempt, daemon=True)
        helper.start()
        helper.join(_ACT_SECONDS)

    def _store_lost(self) -> None:
        """Handles the loss of rank 0. Ranks that talk to it notice by themselves; the others are ended here after a
        delay.
        """
        end = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < end:
            if self._leaving:
                return
            time.sleep(0.1)
        say(f"rank {self._rank} ends because rank 0 is gone")
        self._exit(EXIT_FOLLOWED)

    def _look(self) -> None:
        waiting = self._waiting
        if waiting is None or time.monotonic() - waiting[1] < self._limit:
            return
        what, since = waiting
        seconds = time.monotonic() - since
        text = f"rank {self._rank} has waited {seconds:.0f} s for the other ranks, in {what}"
        said = json.dumps({"kind": "hung", "rank": self._rank, "text": text})
        try:
            if self._other.compare_set("end", "", said).decode() != said:
                return
        except RuntimeError:
            return
        self._dump(text)
        time.sleep(_STACKS_SECONDS)
        say(
            f"{text}; that is longer than DET_COLLECTIVE_TIMEOUT ({self._limit:g} s). The stacks of all ranks are "
            "above: a rank that waits in no exchange is the one the others wait for"
        )
        with contextlib.suppress(RuntimeError):
            self._other.set("told", "1")
        self._exit(EXIT_HUNG)

    def _state(self) -> str:
        waiting = self._waiting
        if waiting is None:
            return f"{self._doing}, and waits for no other"
        return f"{self._doing}, and has waited {time.monotonic() - waiting[1]:.0f} s in {waiting[0]}"

    @staticmethod
    def _dump(title: str) -> None:
        say(f"---- {title}. Its stacks:")
        faulthandler.dump_traceback(file=sys.stderr, all_threads=True)

    @staticmethod
    def _exit(status: int) -> None:
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def limit_from(environment: Callable[[str], str | None], name: str, default: float) -> float:
    """Returns a setting in seconds.

    Raises:
        ValueError: it is not a number above 0.
    """
    text = environment(name)
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e7:
        raise ValueError(f"{name} is {text!r}; it must be a number of seconds above 0")
    return seconds
