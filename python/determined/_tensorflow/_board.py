"""Where callbacks of TensorFlow write their event files."""

from __future__ import annotations

from determined.tensorboard import get_base_path


def directory(run: str = "") -> str:
    """The directory of this process; what the chief has there is kept with the checkpoints at every report.

    Who writes at the same time as others names a ``run``: of a directory TensorBoard follows one file only.
    """
    return str(get_base_path() / run)
