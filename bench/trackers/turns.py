"""The protocol of the workers of bench/tracking.py: read a line, carry it out, answer with a line.

It lets programs that keep a connection, a run or a writer open take turns, each in an interpreter of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

METRICS = [f"metric_{i}" for i in range(10)]


def values(step: int) -> dict[str, float]:
    """What a training loop would report after a step: ten metrics, all values different."""
    return {name: 1.0 / (1 + step + i) for i, name in enumerate(METRICS)}


def for_seconds(seconds: float, act: Callable[[int], Any], steps: Iterator[int]) -> dict[str, float]:
    """Calls `act` with the next step until the time is up."""
    done = 0
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        act(next(steps))
        done += 1
    return {"calls": done, "begin": begin}


def answer(verbs: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Answers lines `["verb", argument…]` until standard input ends. What libraries print goes to standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        print(json.dumps(verbs[verb](*arguments)), file=replies, flush=True)
