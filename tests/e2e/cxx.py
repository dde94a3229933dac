"""Trials in C++ for tests: what one cluster compiled is there in the next."""

import contextlib
import os
import pathlib
import shutil

import pytest
from cluster import BINARY, Cluster

PROGRAM = pathlib.Path(BINARY).resolve().parent / "det-trial"
needs_det_trial = pytest.mark.skipif(not PROGRAM.exists(), reason="det-trial is not built: there is no PyTorch wheel")


class Compiled:
    """Lends what was compiled to agents that are about to start, and takes what they compiled."""

    def __init__(self, place):
        self.place = place
        self.lent = []

    def lend_to(self, agent_directory):
        self.lent.append(agent_directory / "cxx")
        _copy(self.place, self.lent[-1])

    def take(self):
        for directory in self.lent:
            _copy(directory, self.place)


@contextlib.contextmanager
def running(directory, compiled, **settings):
    """A cluster that runs trials in C++."""
    cluster = Cluster(directory / "cluster", **settings)
    compiled.lend_to(cluster.agent_directory)
    try:
        yield cluster.start()
    finally:
        compiled.take()
        cluster.end()


def compiled_in(tmp_path_factory):
    """LibTorch's headers are compiled once a run, or once for many (``DET_TEST_CXX_CACHE``)."""
    kept = os.environ.get("DET_TEST_CXX_CACHE")
    place = pathlib.Path(kept) if kept else tmp_path_factory.getbasetemp() / "cxx"
    if not kept and "PYTEST_XDIST_WORKER" in os.environ:
        place = tmp_path_factory.getbasetemp().parent / "cxx"  # one for all workers of this run
    place.mkdir(exist_ok=True)
    return Compiled(place)


def _copy(source, target):
    for part in ("headers", "libraries"):
        (target / part).mkdir(parents=True, exist_ok=True)
        for file in (source / part).glob("*"):
            if not (target / part / file.name).exists():
                unfinished = target / part / f".{file.name}.{os.getpid()}"
                shutil.copy2(file, unfinished)
                unfinished.rename(target / part / file.name)
