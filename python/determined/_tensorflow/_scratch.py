"""A place for files that are gone after the trial, also where its process is killed."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def root() -> str:
    """A directory of this process. In a task it is in the working directory, which the agent removes with all that is
    below it; else it is where temporary files are, until the process ends."""
    home = os.environ.get("DET_WORKDIR") or None
    made = tempfile.mkdtemp(prefix=".scratch-" if home else "determined-", dir=home)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
