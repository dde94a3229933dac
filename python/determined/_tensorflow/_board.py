"""The directory where TensorFlow callbacks write their event files."""

from __future__ import annotations

from determined.tensorboard import get_base_path


def directory(run: str = "") -> str:
    """The directory of this process. The chief's files there are stored with the checkpoints at every report.

    Concurrent writers must use different ``run`` names, because TensorBoard follows only one file per directory.
    """
    return str(get_base_path() / run)
