"""A cluster with two pools, and the original's client."""

import pathlib
import re
import shutil
import tempfile

import pytest
from cluster import Cluster
from driven import Client

SETTINGS = """
resource_pools:
  - {pool_name: default}
  - {pool_name: spare}
"""


@pytest.fixture(scope="module")
def cluster():
    # Tasks of linked users must get there, and pytest keeps other accounts out of its own directories.
    place = pathlib.Path(tempfile.mkdtemp(prefix="det-original-"))
    place.chmod(0o755)
    settings = place / "master.yaml"
    settings.write_text(SETTINGS)
    it = Cluster(place / "cluster", options=["--slots", "2", "--agent-id", "box", "--config-file", str(settings)])
    it.start()
    yield it
    it.end()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def client(cluster, original_client, tmp_path_factory):
    it = Client(original_client, cluster.url, tmp_path_factory.mktemp("client") / "work", cluster.environment)
    it.variables |= {"version": "0.38.1"}
    yield it
    it.end()


@pytest.fixture(scope="module")
def done_once(client):
    """A completed experiment with its trial and a checkpoint, for all tables: {experiment}, {trial}, {checkpoint}."""
    created = client.run("experiment create model/const.yaml model --config name=seen")
    match = re.search(r"Created experiment (\d+)", created["output"])
    assert match, created["output"]
    client.variables["experiment"] = match[1]
    waited = client.run(f"experiment wait {match[1]} --polling-interval 1")
    assert waited["status"] == 0, waited["output"]
    trials = client.run(f"experiment list-trials {match[1]} --csv")["output"]
    client.variables["trial"] = re.search(r"^(\d+),", trials, re.MULTILINE)[1]
    checkpoints = client.run(f"experiment list-checkpoints {match[1]} --best 1")["output"]
    client.variables["checkpoint"] = re.search(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", checkpoints)[0]
