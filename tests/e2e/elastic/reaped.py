"""Processes of the tests that leave nothing behind (reaper.py), and ports for them."""

import pathlib
import subprocess
import sys

REAPER = pathlib.Path(__file__).with_name("reaper.py")


def start_reaped(words, log, mode="ab", **options):
    """Runs a command below reaper.py, with its output in the file ``log``."""
    with open(log, mode) as output:
        return subprocess.Popen(
            [sys.executable, "-S", REAPER, *words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            **options,
        )


def end_reaped(process):
    """Ends it, and all that came from it."""
    process.stdin.close()
    process.wait()
