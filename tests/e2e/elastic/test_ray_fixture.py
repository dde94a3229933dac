"""The Ray cluster of the tests behaves as one of several machines does."""

import json
import pathlib

import pytest
from cluster import wait_until

GANG = """
import json, os, subprocess, sys, ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy as Inside

ray.init("auto", namespace="det", logging_level="error")
size, name = int(sys.argv[1]), sys.argv[2]
group = placement_group([{"CPU": 1, "GPU": 2}] * size, strategy="STRICT_SPREAD", lifetime="detached", name=name)

@ray.remote(num_cpus=1, num_gpus=2, max_restarts=0)
class Pilot:
    def start(self):
        self.child = subprocess.Popen(["sleep", "600"])
        return [os.environ["CUDA_VISIBLE_DEVICES"], self.child.pid]

pilots = [
    Pilot.options(name=f"{name}-{rank}", lifetime="detached", scheduling_strategy=Inside(group, rank)).remote()
    for rank in range(size)
]
ready = group.wait(int(sys.argv[3]))
print(json.dumps(ray.get([pilot.start.remote() for pilot in pilots]) if ready else None))
"""


@pytest.fixture(scope="module")
def gang(ray_cluster):
    """Two actors that outlive their driver, on different nodes; devices and child of each."""
    return json.loads(ray_cluster.python(GANG, 2, "gang", 30))


def alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def actor(ray_cluster, name):
    return next(found for found in ray_cluster.actors() if found["Name"] == name)


def test_actors_of_a_placement_group_run_on_different_nodes_with_their_devices(ray_cluster, gang):
    assert [sorted(devices.split(",")) for devices, _ in gang] == [["0", "1"], ["0", "1"]]
    actors = [actor(ray_cluster, f"gang-{rank}") for rank in (0, 1)]
    assert [found["State"] for found in actors] == ["ALIVE", "ALIVE"]
    assert {ray_cluster.node_of(found) for found in actors} == {"raylet1", "raylet2"}


def test_a_placement_group_waits_until_a_node_comes_that_has_what_it_asks_for(ray_cluster, gang):
    assert json.loads(ray_cluster.python(GANG, 1, "late", 0)) is None
    assert actor(ray_cluster, "late-0")["State"] in ("DEPENDENCIES_UNREADY", "PENDING_CREATION")
    ray_cluster.start_raylet("raylet3")
    wait_until(lambda: actor(ray_cluster, "late-0")["State"] == "ALIVE", "an actor on the new node")
    assert ray_cluster.node_of(actor(ray_cluster, "late-0")) == "raylet3"


def test_a_killed_raylet_takes_its_actors_and_their_children_along(ray_cluster, gang):
    lost, kept = sorted((0, 1), key=lambda rank: ray_cluster.node_of(actor(ray_cluster, f"gang-{rank}")) != "raylet1")
    ray_cluster.kill_raylet("raylet1")
    assert not alive(gang[lost][1])
    wait_until(lambda: actor(ray_cluster, f"gang-{lost}")["State"] == "DEAD", "a dead actor")
    assert not ray_cluster.nodes()["raylet1"]
    assert actor(ray_cluster, f"gang-{kept}")["State"] == "ALIVE"
    assert alive(gang[kept][1])


def test_without_its_head_every_raylet_ends_and_a_new_head_knows_nothing(ray_cluster, gang):
    ray_cluster.kill_head()
    wait_until(lambda: not any(alive(child) for _, child in gang), "an end of all actors")
    for name in list(ray_cluster.processes):
        ray_cluster.kill_raylet(name)
    ray_cluster.start_head()
    ray_cluster.start_raylet("raylet1")
    ray_cluster.wait_for_nodes("head", "raylet1")
    assert ray_cluster.actors() == []
