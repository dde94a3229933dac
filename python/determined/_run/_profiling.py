"""Runs the Core API's profiler during the training of a trial class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from determined._info import get_trial_cluster_info


@contextlib.contextmanager
def measured(asked: bool, ranks: Any, shown: bool = True) -> Iterator[None]:
    """Profiles this machine inside, if requested and on a cluster. One rank per machine does so. ``shown``: also for
    TensorBoard.
    """
    info = get_trial_cluster_info() if asked else None
    if info is None:
        yield
        return
    from determined.core._connection import Master
    from determined.core._profiler import ProfilerContext
    from determined.tensorboard._board import Board, storage_place

    board = None
    if shown:
        root = storage_place(info.trial.experiment_config.get("checkpoint_storage") or {})
        board = Board(root, info.cluster_id, info.trial.experiment_id, info.trial.trial_id, apart=True)
    profiler = ProfilerContext(ranks, info, Master(info.master_url, info.session_token), board)
    profiler.on()
    try:
        yield
    finally:
        profiler.off()
