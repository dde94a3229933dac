"""Trials on machines that a real Ray cluster gives."""

import contextlib
import os
import pathlib
import re
import signal
import time

import pytest
from cluster import wait_until
from engine_pool import NOISY, RANKS, SLOW, EngineCluster
from ray_cluster import RayCluster


class RayPool(EngineCluster):
    def __init__(self, directory, ray, **provider):
        kept = {k: v for k, v in ray.environment().items() if k.startswith("RAY_")}
        settings = {"type": "ray", "python": str(ray.programs / "python")} | provider
        super().__init__(directory, kept, **settings)
        self.ray = ray

    def pilots(self, *states):
        """Ray's actors that this cluster asked for."""
        cluster_id = self.get("master")["clusterId"][:8]
        ours = [actor for actor in self.ray.actors() if actor["Name"].startswith(f"det-{cluster_id}-")]
        return [actor for actor in ours if not states or actor["State"] in states]

    def helpers(self):
        """The processes that speak to Ray for this master."""
        pid = self.master.process.pid
        children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
        found = [int(child) for file in children for child in file.read_text().split()]
        return [
            child
            for child in found
            if b"Speaks to a Ray cluster" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
        ]


@contextlib.contextmanager
def cluster_of(ray, directory, **provider):
    cluster = RayPool(directory, ray, **provider).start()
    try:
        yield cluster
    finally:
        print(cluster.shown())
        cluster.end()


@pytest.fixture(scope="module")
def cluster(ray_cluster, tmp_path_factory):
    with cluster_of(ray_cluster, tmp_path_factory.mktemp("ray")) as one:
        yield one


def test_a_machine_comes_for_a_trial_and_goes_when_it_is_idle(cluster, undisturbed):
    assert undisturbed["batches"] == 300
    assert [actor["State"] for actor in cluster.pilots()] == ["ALIVE"]
    cluster.wait_for_no_allotment()
    wait_until(lambda: not cluster.pilots("ALIVE"), "no actor of ours")
    cluster.wait_for_no_process()
    assert list(cluster.work.iterdir()) == []


def test_the_first_metric_comes_within_seconds_of_the_submission(cluster, undisturbed):
    cluster.wait_for_no_allotment()
    began = time.monotonic()
    id = cluster.create(NOISY)
    trial = cluster.trial_of(id)["id"]
    wait_until(lambda: cluster.metrics(trial, "training"), "a metric")
    print(f"submit to first metric on Ray: {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 30
    cluster.wait_for_state(id, "COMPLETED")


def test_a_gang_of_two_nodes_with_two_slots_each_trains_as_one_trial(cluster, ray_cluster):
    id = cluster.create(RANKS, "--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never")
    wait_until(lambda: len(cluster.pilots("ALIVE")) == 2, "two actors")
    assert {ray_cluster.node_of(actor) for actor in cluster.pilots("ALIVE")} == {"raylet1", "raylet2"}
    cluster.wait_for_state(id, "COMPLETED")
    assert len(cluster.get("agents")["agents"]) == 2
    cluster.wait_for_no_allotment()


@pytest.mark.parametrize("loss", ["actor", "raylet", "helper"])
def test_a_trial_whose_machine_is_lost_ends_with_the_same_bits(cluster, ray_cluster, undisturbed, loss):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_checkpoint(id)
    (pilot,) = cluster.pilots("ALIVE")
    running = cluster.processes()
    assert running
    if loss == "actor":
        os.kill(pilot["Pid"], signal.SIGKILL)
    elif loss == "raylet":
        name = ray_cluster.node_of(pilot)
        ray_cluster.kill_raylet(name)
        ray_cluster.start_raylet(name)
    else:
        (helper,) = cluster.helpers()
        os.kill(helper, signal.SIGKILL)
    if loss != "helper":
        wait_until(lambda: not set(running) & set(cluster.processes()), "nothing left of the lost machine")
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.result(id) == undisturbed
    assert cluster.trial_of(id)["restarts"] == 0
    assert ("was lost" in cluster.log_text(id)) == (loss != "helper")
    assert len(cluster.helpers()) <= 1
    cluster.wait_for_no_allotment()
    cluster.wait_for_no_process()


def test_a_node_of_a_gang_that_is_lost_gives_the_others_back(cluster, ray_cluster):
    options = ["--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never"]
    id = cluster.create(RANKS, *options)
    wait_until(lambda: len(cluster.pilots("ALIVE")) == 2, "two actors")
    first = {actor["Name"] for actor in cluster.pilots("ALIVE")}
    os.kill(cluster.pilots("ALIVE")[0]["Pid"], signal.SIGKILL)
    wait_until(lambda: not first & {actor["Name"] for actor in cluster.pilots("ALIVE")}, "both actors gone")
    cluster.wait_for_state(id, "COMPLETED")
    cluster.wait_for_no_allotment()


def test_rays_words_reach_whoever_waits(ray_cluster, tmp_path):
    with cluster_of(ray_cluster, tmp_path, cpus_per_node=64, max_nodes=1) as cluster:
        id = cluster.create(NOISY)
        reason = cluster.wait_for_reason(id, r"INFEASIBLE")
        assert (
            "waits for 1 node of Ray (the placement group is pending: the cluster does not have a node with 64 CPU"
            in reason
        )
        cluster.run("experiment", "kill", id)
        cluster.wait_for_no_allotment()
        assert cluster.pilots("ALIVE") == []


def test_a_pilot_that_cannot_start_is_said_and_not_asked_for_in_a_storm(ray_cluster, tmp_path):
    with cluster_of(ray_cluster, tmp_path, program="/no/such/det") as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_reason(
            id, r"the last request failed: the pilot ended with 12[67]: .*/no/such/det: No such file"
        )
        assert len(cluster.pilots()) <= 2


def test_the_helper_ends_with_its_master_and_the_next_master_finds_its_actors(ray_cluster, tmp_path):
    with cluster_of(ray_cluster, tmp_path) as cluster:
        id = cluster.create(NOISY, *SLOW)
        cluster.wait_for_state(id, "RUNNING")
        (helper,) = cluster.helpers()
        cluster.master.kill()
        wait_until(lambda: not pathlib.Path(f"/proc/{helper}").exists(), "the helper ends with its master")
        cluster.start_master()
        cluster.wait_for_state(id, "COMPLETED")
        assert cluster.trial_of(id)["restarts"] == 0
        assert len(cluster.pilots()) == 1


def test_nothing_secret_is_in_arguments_of_processes(ray_cluster, tmp_path):
    with cluster_of(ray_cluster, tmp_path) as cluster:
        id = cluster.create(NOISY, *SLOW)
        cluster.wait_for_state(id, "RUNNING")
        words = b"".join(_read(file) for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"))
        assert b"--pilot" in words
        assert not re.search(rb"det_pilot_[\w]|det_node_[\w]", words)
        assert "det_pilot_" not in str(cluster.pilots())


def test_a_python_without_ray_is_refused_at_the_start(ray_cluster, tmp_path):
    for number, (python, words) in enumerate(
        [
            ("/no/such/python", "cannot run /no/such/python: No such file or directory; name a Python that has Ray"),
            (RayPool.python, "cannot import ray .*; install it there with pip, or name a Python that has it"),
        ]
    ):
        cluster = RayPool(tmp_path / str(number), ray_cluster, python=python)
        with pytest.raises(AssertionError, match=f"resource pool default: Ray: .*{words}"):
            cluster.start_master()


def test_without_its_head_trials_wait_and_go_on_when_there_is_one(tmp_path, undisturbed):
    with RayCluster(raylets=1) as ray, cluster_of(ray, tmp_path) as cluster:
        id = cluster.create(NOISY, *SLOW)
        cluster.wait_for_checkpoint(id)
        ray.kill_head()
        wait_until(lambda: not cluster.processes(), "the pilot ends with its raylet")
        ray.kill_raylet("raylet1")
        other = cluster.create(RANKS, "--config", "hyperparameters.hold=never")  # it needs a whole node
        cluster.wait_for_reason(other, "Ray does not answer: no head at 127.0.0.1:")
        ray.start_head()
        ray.start_raylet("raylet1")
        for each in (id, other):
            cluster.wait_for_state(each, "COMPLETED")
        assert cluster.result(id) == undisturbed
        assert len(cluster.helpers()) <= 1


def test_a_master_starts_while_there_is_no_head(tmp_path):
    with RayCluster(raylets=1) as ray:
        ray.kill_head()
        with cluster_of(ray, tmp_path) as cluster:
            id = cluster.create(NOISY)
            cluster.wait_for_reason(id, "Ray does not answer: no head at 127.0.0.1:")


def _read(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""
