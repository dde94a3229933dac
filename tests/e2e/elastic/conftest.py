"""Engines that give machines, each as real processes of the test."""

import pytest
from ray_cluster import RayCluster
from slurm import Slurm, unavailable


@pytest.fixture(scope="module")
def slurm():
    """A Slurm with four nodes, shared by the tests of a file: leave it as you found it, or start your own."""
    if why := unavailable():
        pytest.skip(why)
    with Slurm() as engine:
        yield engine


@pytest.fixture(scope="module")
def ray_cluster():
    """A Ray cluster with a head and two raylets, shared by the tests of a file."""
    with RayCluster() as engine:
        yield engine
