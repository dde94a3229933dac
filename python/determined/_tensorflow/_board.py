"""Where a trial's TensorBoard files are written; they stay on the machine."""

from __future__ import annotations

import os
import pathlib
import tempfile


def directory() -> str:
    """The directory of this process, which is there."""
    allocation = os.environ.get("DET_ALLOCATION_ID", "local")
    rank = os.environ.get("DET_RANK", "0")
    path = pathlib.Path(tempfile.gettempdir()) / f"tensorboard-{allocation}-{rank}"
    path.mkdir(parents=True, exist_ok=True)
    return str(path)
