"""The model registry: what it keeps, and what it refuses."""

import concurrent.futures
import json
import urllib.error

import pytest
from cluster import HERE
from sdk import run_python

NOISY = HERE / "models" / "noisy"


def train(cluster):
    """The checkpoints of a new finished experiment that keeps all four."""
    id = cluster.create(
        NOISY, "--config", "searcher.max_length.batches=40", "--config", "min_checkpoint_period.batches=10",
        "--config", "hyperparameters.seconds_per_batch=0.0", "--config", "checkpoint_storage.save_trial_latest=9",
    )  # fmt: skip
    cluster.wait_for_state(id, "COMPLETED")
    answer = cluster.get(f"experiments/{id}/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&states=STATE_COMPLETED")
    uuids = [checkpoint["uuid"] for checkpoint in answer["checkpoints"]]
    assert len(uuids) == 4
    return id, uuids


def refused(cluster, status, *call):
    with pytest.raises(urllib.error.HTTPError) as caught:
        cluster.get(*call)
    assert caught.value.code == status
    return json.loads(caught.value.read())["error"]["error"]


def test_a_registered_checkpoint_survives_every_policy_and_a_restart(cluster):
    id, uuids = train(cluster)
    cluster.run("model", "create", "kept")
    cluster.run("model", "register-version", "kept", uuids[0])
    cluster.master.kill()
    cluster.start_master()
    cluster.run("experiment", "set", "gc-policy", id, "--yes", "--save-experiment-best", 0, "--save-trial-best", 0,
                "--save-trial-latest", 0)  # fmt: skip
    states = {c["uuid"]: c["state"] for c in cluster.get(f"experiments/{id}/checkpoints")["checkpoints"]}
    assert states == {uuids[0]: "STATE_COMPLETED"} | dict.fromkeys(uuids[1:], "STATE_DELETED")
    files = list((cluster.directory / "checkpoints").glob("*"))
    assert uuids[0] in {file.name for file in files}
    assert not {file.name for file in files} & set(uuids[1:])
    text = refused(cluster, 400, "checkpoints", "DELETE", {"checkpointUuids": [uuids[0]]})
    assert f"checkpoint {uuids[0]} cannot be deleted: it is version 1 of model 'kept'" in text
    text = refused(cluster, 400, f"experiments/{id}", "DELETE")
    assert "version 1 of model 'kept'" in text and "cannot be deleted" in text
    text = refused(cluster, 400, "models/kept/versions", "POST", {"checkpointUuid": uuids[1]})
    assert "is deleted" in text
    cluster.run("model", "delete", "kept", "--yes")
    cluster.get("checkpoints", "DELETE", {"checkpointUuids": [uuids[0]]})
    assert not (cluster.directory / "checkpoints" / uuids[0]).exists()
    cluster.get(f"experiments/{id}", "DELETE")


def test_the_commands_show_models_and_versions(cluster):
    _, uuids = train(cluster)
    text = cluster.run("model", "create", "fashion", "--description", "clothes")
    assert "fashion" in text and "clothes" in text
    assert "model 'fashion' already exists" in cluster.run("model", "create", "fashion", code=1)
    for uuid in uuids[:2]:
        assert uuid in cluster.run("model", "register-version", "fashion", uuid)
    listed = json.loads(cluster.run("model", "list", "--json"))
    assert [(m["name"], m["numVersions"]) for m in listed] == [("fashion", 2)]
    text = cluster.run("model", "list-versions", "fashion")
    assert text.index(uuids[1]) < text.index(uuids[0]), "the latest first"
    assert uuids[1] in cluster.run("model", "describe", "fashion")
    text = cluster.run("model", "describe", "fashion", "--version", 1)
    assert uuids[0] in text and uuids[1] not in text
    assert "version 7 of model 'fashion' not found" in cluster.run(
        "model", "describe", "fashion", "--version", 7, code=1
    )
    assert "model 'nothing' not found" in cluster.run("model", "describe", "nothing", code=1)
    cluster.run("model", "archive", "fashion")
    assert "fashion" not in cluster.run("model", "list")
    assert "fashion" in cluster.run("model", "list", "--all")
    assert "is archived" in cluster.run("model", "register-version", "fashion", uuids[2], code=1)
    cluster.run("model", "unarchive", "fashion")
    cluster.run("model", "delete", "fashion", "--yes")
    assert cluster.get("models")["models"] == []


def test_the_sdk_keeps_the_registry(cluster, tmp_path):
    _, uuids = train(cluster)
    run_python(
        cluster,
        f"""
from determined.experimental import client, ModelSortBy, ModelOrderBy
from determined.common.api import errors
uuids = {uuids!r}
model = client.create_model("a model / with slash", "first", {{"k": 1}}, labels=["x", "y"])
other = client.create_model("b", labels=["x"])
try:
    client.create_model("b")
    raise SystemExit("twice")
except errors.ConflictException as error:
    assert "'b'" in str(error)
other.move_to_workspace("Uncategorized")
assert other.workspace_id == 1 and "b" in [m.name for m in client.list_models(workspace_names=["Uncategorized"])]
assert client.list_models(workspace_names=["nowhere"]) == []
assert model.get_version() is None
first = model.register_version(uuids[0], name="one", comment="c", metadata={{"m": 1}})
second = model.register_version(uuids[1])
assert (first.model_version, second.model_version, model.num_versions) == (1, 2, 2)
assert model.get_version().uuid == uuids[1] and model.get_version(1).checkpoint.uuid == uuids[0]
assert [v.model_version for v in model.get_versions()] == [2, 1]
assert [v.model_version for v in model.list_versions(ModelOrderBy.ASCENDING)] == [1, 2]
assert first.checkpoint.model_name == "a model / with slash" and first.checkpoint.batch_number == 10
assert type(first.load()).__name__ == "NoisyTrial"
first.set_notes("n"); first.add_metadata({{"q": 2}}); first.remove_metadata(["m"])
again = model.get_version(1)
assert (again.name, again.comment, again.notes, again.metadata) == ("one", "c", "n", {{"q": 2}})
model.add_metadata({{"l": {{"deep": [1]}}}}); model.remove_metadata(["k"]); model.set_description("d")
model.set_labels(["z", "x"])
found = client.get_model("a model / with slash")
assert (found.metadata, found.description, found.labels) == ({{"l": {{"deep": [1]}}}}, "d", ["z", "x"])
assert client.get_model_by_id(model.model_id).name == model.name
assert client.get_model_labels() == ["x", "z"]
assert [m.name for m in client.get_models(order_by=ModelOrderBy.DESC)] == ["b", model.name]
assert [m.name for m in client.get_models(name="MODEL")] == [model.name]
assert [m.name for m in client.list_models(labels=["z"])] == [model.name]
assert client.get_models(sort_by=ModelSortBy.LAST_UPDATED_TIME)[-1].name == model.name
try:
    other.set_name(model.name)
    raise SystemExit("renamed")
except errors.ConflictException:
    pass
other.archive()
assert [m.name for m in client.list_models(archived=False)] == [model.name]
other.delete()
second.delete()
assert [v.model_version for v in model.get_versions()] == [1]
assert model.register_version(uuids[2]).model_version == 3
model.delete()
try:
    model.reload()
    raise SystemExit("still there")
except errors.NotFoundException as error:
    assert "a model / with slash" in str(error)
""",
        tmp_path,
    )


def test_only_the_owner_or_an_administrator_deletes_a_model(cluster, tmp_path):
    cluster.run("-u", "admin", "user", "create", "ada")
    run_python(
        cluster,
        """
from determined.experimental import Determined
from determined.common.api import errors
Determined(user="determined", password="").create_model("mine")
ada = Determined(user="ada", password="")
ada.get_model("mine").set_notes("ada was here")
try:
    ada.get_model("mine").delete()
    raise SystemExit("deleted")
except errors.ForbiddenException as error:
    assert "belongs to user 'determined'" in str(error)
Determined(user="admin", password="").get_model("mine").delete()
""",
        tmp_path,
    )


def test_a_script_registers_what_it_trained(cluster, tmp_path):
    (tmp_path / "train.py").write_text(
        """
import determined as det
from determined.experimental import Determined
with det.core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "model").write_text("m")
    model = Determined().create_model("by a task")
    model.register_version(uuid)
    Determined().get_checkpoint(uuid).add_metadata({"good": True})
    assert context.checkpoint.get_metadata(uuid) == {"steps_completed": 1, "good": True}
"""
    )
    (tmp_path / "a.yaml").write_text(
        "name: registers\nentrypoint: python3 train.py\nmax_restarts: 0\n"
        "searcher: {name: single, metric: loss, max_length: 5}\n"
        "checkpoint_storage: {save_trial_latest: 0, save_trial_best: 0}\n"
    )
    id = cluster.create(tmp_path, config="a.yaml")
    cluster.wait_for_state(id, "COMPLETED")
    version = cluster.get("models/by%20a%20task/versions/-1")["modelVersion"]
    assert version["username"] == "determined"
    assert version["checkpoint"]["state"] == "STATE_COMPLETED"
    assert (cluster.directory / "checkpoints" / version["checkpoint"]["uuid"] / "model").read_text() == "m"


def test_registering_and_deleting_at_once_leaves_no_version_without_its_files(cluster):
    """Whoever comes first wins, and the other is told."""
    _, uuids = train(cluster)
    cluster.get("models", "POST", {"name": "raced"})

    def attempt(path, method, body):
        try:
            return cluster.get(path, method, body)
        except urllib.error.HTTPError as error:
            if error.code != 400:
                raise
            return None

    for uuid in uuids:
        calls = [
            ("models/raced/versions", "POST", {"checkpointUuid": uuid}),
            ("checkpoints", "DELETE", {"checkpointUuids": [uuid]}),
        ]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda call: attempt(*call), calls * 4))
        there = cluster.get(f"checkpoints/{uuid}")["checkpoint"]["state"] == "STATE_COMPLETED"
        versions = cluster.get("models/raced/versions?limit=0")["modelVersions"]
        named = any(version["checkpoint"]["uuid"] == uuid for version in versions)
        assert named == there == (cluster.directory / "checkpoints" / uuid / "state-dict.pth").exists()
