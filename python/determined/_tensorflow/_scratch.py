"""A temporary directory that is removed after the trial, even if its process is killed."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def root() -> str:
    """The temporary directory of this process. In a task, it is in the working directory, which the agent removes;
    elsewhere, it is in the system's directory for temporary files, and removed when the process ends."""
    home = os.environ.get("DET_WORKDIR") or None
    made = tempfile.mkdtemp(prefix=".scratch-" if home else "determined-", dir=home)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
