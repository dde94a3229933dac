"""Trials in C++ for tests: what one cluster compiled is there in the next."""

import contextlib
import os
import pathlib

import pytest
from cluster import BINARY, Cluster

PROGRAM = pathlib.Path(BINARY).resolve().parent / "det-trial"
needs_det_trial = pytest.mark.skipif(not PROGRAM.exists(), reason="det-trial is not built: there is no PyTorch wheel")


class Compiled:
    """One place for what all clusters compile: who needs what another compiles at this moment waits for it."""

    def __init__(self, place):
        self.place = place

    def lend_to(self, agent_directory):
        agent_directory.mkdir(parents=True, exist_ok=True)
        (agent_directory / "cxx").symlink_to(self.place)


@contextlib.contextmanager
def running(directory, compiled, **settings):
    """A cluster that runs trials in C++."""
    cluster = Cluster(directory / "cluster", **settings)
    compiled.lend_to(cluster.agent_directory)
    try:
        yield cluster.start()
    finally:
        cluster.end()


def compiled_in(tmp_path_factory):
    """LibTorch's headers are compiled once a run, or once for many (``DET_TEST_CXX_CACHE``)."""
    kept = os.environ.get("DET_TEST_CXX_CACHE")
    place = pathlib.Path(kept) if kept else tmp_path_factory.getbasetemp() / "cxx"
    if not kept and "PYTEST_XDIST_WORKER" in os.environ:
        place = tmp_path_factory.getbasetemp().parent / "cxx"  # one for all workers of this run
    place.mkdir(exist_ok=True)
    return Compiled(place)
