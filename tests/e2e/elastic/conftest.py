"""Engines that give machines, each as real processes of the test."""

import pytest
from slurm import Slurm, unavailable


@pytest.fixture(scope="module")
def slurm():
    """A Slurm with four nodes, shared by the tests of a file: leave it as you found it, or start your own."""
    if why := unavailable():
        pytest.skip(why)
    with Slurm() as engine:
        yield engine
