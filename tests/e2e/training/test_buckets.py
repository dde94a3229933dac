"""Experiments that keep their checkpoints in a bucket: killed, resumed, downloaded, collected and deleted."""

import sys

import pytest
from cluster import HERE, REPOSITORY, kill_process, wait_until
from state import state_hash

sys.path.insert(0, str(REPOSITORY / "python" / "tests"))
sys.path.insert(0, str(REPOSITORY / "python"))
import object_servers

from determined._bucket import Bucket

NOISY = HERE / "models" / "noisy"


@pytest.fixture(params=["s3", "gcs"])
def section(request):
    with object_servers.SERVERS[request.param]() as found:
        yield found


def settings(tmp_path, section):
    file = tmp_path / f"{section.get('type', 'none')}.yaml"
    lines = [f"  {name}: {value}" for name, value in {**section, "prefix": "team/noisy"}.items()]
    file.write_text((NOISY / "const.yaml").read_text() + "checkpoint_storage:\n" + "\n".join(lines) + "\n")
    return file


def end_state(cluster, id, directory):
    """The hash of the last checkpoint, as the master hands it out."""
    trial = cluster.trial_of(id)["id"]
    found = [c for c in cluster.get(f"trials/{trial}/checkpoints")["checkpoints"] if c["state"] == "STATE_COMPLETED"]
    newest = max(found, key=lambda checkpoint: checkpoint["metadata"]["steps_completed"])
    cluster.run("checkpoint", "download", newest["uuid"], "-o", directory)
    return state_hash(directory), newest


def test_an_experiment_in_a_bucket_is_killed_goes_on_and_ends_equal(start, section, tmp_path):
    cluster = start()
    straight = cluster.create(NOISY)
    cluster.wait_for_state(straight, "COMPLETED")
    expected, _ = end_state(cluster, straight, tmp_path / "straight")

    bucket = Bucket(section, "team/noisy")
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.01", config=settings(tmp_path, section))
    wait_until(lambda: [name for name in bucket.sizes() if name.endswith(".det-manifest.json")], "a checkpoint there")
    kill_process(cluster.shims()[0]["taskPid"])
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.trial_of(id)["restarts"] == 1
    state, newest = end_state(cluster, id, tmp_path / "bucket")
    assert state == expected

    secret = section.get("secret_key", "none")
    assert secret not in cluster.run("experiment", "config", id) and secret not in cluster.log_text(id)

    def uuids():
        return {name.split("/")[0] for name in bucket.sizes() if name.endswith(".det-manifest.json")}

    wait_until(lambda: len(uuids()) <= 3, "an end of what the policy does not keep")
    assert newest["uuid"] in uuids()
    names = {name.removeprefix(newest["uuid"] + "/") for name in bucket.sizes() if name.startswith(newest["uuid"])}
    assert names == {name for name in newest["resources"] if not name.endswith("/")} | {".det-manifest.json"}
    assert any("/tensorboard/experiment/" in name for name in bucket.sizes())

    cluster.run("experiment", "delete", id, "--yes")
    wait_until(lambda: not bucket.sizes(), "an empty bucket")


def test_a_bucket_that_cannot_be_used_ends_the_trial_at_its_start_and_says_why(start, tmp_path):
    with object_servers.s3() as section:
        cluster = start()
        file = settings(tmp_path, {**section, "bucket": "nowhere"})
        id = cluster.create(NOISY, "--config", "max_restarts=0", config=file)
        cluster.wait_for_state(id, "ERROR")
        assert "cannot write s3://nowhere/team/noisy/.probe-" in cluster.log_text(id)
        assert "NoSuchBucket" in cluster.log_text(id)
