"""Where callbacks of TensorFlow write their event files."""

from __future__ import annotations

from determined.tensorboard import get_base_path


def directory() -> str:
    """The directory of this process; what the chief has there is kept with the checkpoints at every report."""
    return str(get_base_path())
