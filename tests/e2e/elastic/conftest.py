"""Engines that give machines, each as real processes of the test."""

import pytest
from engine_pool import NOISY
from kubernetes_cluster import KubernetesCluster
from kubernetes_cluster import unavailable as no_kubernetes
from ray_cluster import RayCluster
from real_kubernetes import RealKubernetes, missing
from slurm import Slurm, unavailable
from ssh_machines import SshMachines
from ssh_machines import unavailable as no_ssh


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


@pytest.fixture(scope="module")
def machines():
    """Two machines that ssh reaches, shared by the tests of a file."""
    if why := no_ssh():
        pytest.skip(why)
    with SshMachines() as two:
        yield two


@pytest.fixture(scope="module", params=["server of a third party", "control plane of Kubernetes"])
def kubernetes(tmp_path_factory, request):
    """A Kubernetes API with room for two pods, shared by the tests of a file."""
    kind, why = (KubernetesCluster, no_kubernetes) if "third" in request.param else (RealKubernetes, missing)
    if why():
        pytest.skip(why())
    with kind(tmp_path_factory.mktemp("kubernetes")) as two:
        yield two


@pytest.fixture(scope="module")
def undisturbed(cluster):
    """What the trial of models/noisy comes to on one machine that stays; ``cluster`` is of the file."""
    id = cluster.create(NOISY)
    cluster.wait_for_state(id, "COMPLETED")
    return cluster.result(id)
