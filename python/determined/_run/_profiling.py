"""Runs the Core API's profiler during the training of a trial class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from determined._info import get_trial_cluster_info


@contextlib.contextmanager
def measured(asked: bool, ranks: Any) -> Iterator[None]:
    """Profiles this machine inside, if requested and on a cluster. One rank per machine does so."""
    info = get_trial_cluster_info() if asked else None
    if info is None:
        yield
        return
    from determined.core._connection import Master
    from determined.core._profiler import ProfilerContext

    profiler = ProfilerContext(ranks, info, Master(info.master_url, info.session_token))
    profiler.on()
    try:
        yield
    finally:
        profiler.off()
