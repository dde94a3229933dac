"""The output of a trial: ``print`` goes to stdout line by line, and logging to stderr."""

from __future__ import annotations

import io
import logging
import sys


def set_up(*, debug: bool = False) -> None:
    """Makes stdout write every line at once, and sends all logging from INFO on (DEBUG with ``debug``) to stderr."""
    write_lines()
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s: %(name)s: %(message)s", force=True)
    set_level(logging.DEBUG if debug else logging.INFO)


def write_lines() -> None:
    """Makes stdout and stderr write every line at once."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def set_level(level: int) -> None:
    """Sets the level of all logging, which costs milliseconds, because every logger forgets what it has found out."""
    if logging.root.level != level:
        logging.root.setLevel(level)
