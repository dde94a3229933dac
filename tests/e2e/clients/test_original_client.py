"""The original's own client, unchanged from PyPI, works with our master: commands, SDK, and every reply it reads."""

import re
import subprocess

import pytest
from cluster import HERE, PATIENCE, wait_until

NOISY = HERE / "models" / "noisy"


@pytest.fixture(scope="session")
def client(original_client):
    return original_client


OPTIONS = ["--slots", "2"]


def environment_of(cluster):
    """Without our own package of the same name on the path."""
    return {key: value for key, value in cluster.environment.items() if key != "PYTHONPATH"}


@pytest.fixture(scope="module")
def det(client, cluster):
    """Runs the original's `det`; what it printed, apart from its remarks on versions and passwords."""

    def run(*words, user="determined", code=0, directory=NOISY):
        settings = {"DET_MASTER": cluster.url, "DET_USER": user, "DET_PASS": "", "COLUMNS": "200"}
        done = subprocess.run(
            [str(client / "det"), *map(str, words)],
            env=environment_of(cluster) | settings,
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        text = done.stdout + done.stderr
        assert done.returncode == code, f"det {' '.join(map(str, words))} ended with {done.returncode}:\n{text}"
        return text

    return run


@pytest.fixture(scope="module")
def experiment(det):
    """An experiment that the original's command line submitted, waited for and saw complete."""
    text = det("experiment", "create", "const.yaml", ".")
    id = int(re.search(r"Created experiment (\d+)", text).group(1))
    det("experiment", "wait", "--polling-interval", "1", id)
    return id


def test_it_submits_shows_and_changes_experiments(det, experiment):
    assert "COMPLETED" in det("experiment", "describe", experiment)
    assert re.search(rf"\b{experiment}\b.*COMPLETED", det("experiment", "list"))
    assert "COMPLETED" in det("experiment", "list-trials", experiment)
    assert "COMPLETED" in det("experiment", "list-checkpoints", experiment)
    assert "name: single" in det("experiment", "config", experiment)
    assert "INFO" in det("experiment", "logs", experiment)
    assert "Workloads" in det("trial", "describe", "1")
    assert "Set name" in det("experiment", "set", "name", experiment, "renamed")
    assert "Added label" in det("experiment", "label", "add", experiment, "mine")
    for verb in ("archive", "unarchive"):
        assert f"experiment {experiment}" in det("experiment", verb, experiment)


def test_it_downloads_model_definitions_and_checkpoints(det, experiment, tmp_path):
    det("experiment", "download-model-def", experiment, directory=tmp_path)
    assert (tmp_path / f"experiment_{experiment}_model_def.tgz").exists()
    # Not `trial download`: where a trial has one checkpoint, the original's command finds none.
    listed = det("experiment", "list-checkpoints", experiment)
    uuid = re.search(r"COMPLETED .*\b([0-9a-f]{8}-[0-9a-f-]{27})\b", listed).group(1)
    for mode in ("direct", "master"):
        det("checkpoint", "download", uuid, "--mode", mode, "-o", tmp_path / mode)
        assert list((tmp_path / mode).rglob("*.pth"))


def test_it_manages_workspaces_projects_and_what_is_in_them(det, experiment):
    det("workspace", "create", "team")
    det("project", "create", "team", "vision", "--description", "seeing")
    assert "vision" in det("project", "list", "team")
    det("experiment", "move", experiment, "team", "vision")
    assert re.search(rf"\b{experiment}\b", det("project", "list-experiments", "team", "vision", "-a"))
    assert "team" in det("workspace", "list")
    assert "seeing" in det("project", "describe", "team", "vision")
    det("project", "archive", "team", "vision")
    det("project", "unarchive", "team", "vision")
    assert "default" in det("workspace", "list-pools", "team")
    det("experiment", "move", experiment, "Uncategorized", "Uncategorized")


def test_it_deletes_a_workspace_with_what_it_holds(det):
    det("workspace", "create", "outgoing")
    det("project", "create", "outgoing", "old")
    project = re.search(r'"id": (\d+)', det("project", "describe", "outgoing", "old", "--json")).group(1)
    text = det("experiment", "create", "--paused", "--project_id", project, "const.yaml", ".")
    held = int(re.search(r"Created experiment (\d+)", text).group(1))
    assert "Failed" in det("workspace", "delete", "outgoing", "--yes", code=1)
    det("experiment", "kill", held)
    assert "deleted successfully" in det("workspace", "delete", "outgoing", "--yes")
    assert "outgoing" not in det("workspace", "list")
    det("experiment", "describe", held, code=1)


def test_it_manages_templates_models_users_tokens_and_messages(det, tmp_path):
    (tmp_path / "small.yaml").write_text("resources:\n  slots_per_trial: 1\n")
    det("template", "set", "small", "small.yaml", directory=tmp_path)
    assert "small" in det("template", "list")
    assert "slots_per_trial: 1" in det("template", "describe", "small")
    det("template", "remove", "small")
    det("model", "create", "resnet", "--description", "pictures")
    assert "resnet" in det("model", "list")
    det("user", "create", "ada", "--password", "Lovelace1815", user="admin")
    assert "ada" in det("user", "list", user="admin")
    assert re.search(r"TokenID|token", det("token", "create", "-d", "nightly"), re.IGNORECASE)
    assert "nightly" in det("token", "list")
    det("master", "cluster-message", "set", "-m", "Maintenance tonight", user="admin")
    assert "Maintenance tonight" in det("master", "cluster-message", "get", user="admin")
    det("master", "cluster-message", "clear", user="admin")


def test_it_shows_the_cluster_and_who_used_it(det, experiment):
    assert "cluster_id" in det("master", "info") + det("version")
    assert "default" in det("agent", "list")
    assert det("slot", "list").count("cpu") == 2
    det("job", "list")
    det("task", "list")
    det("agent", "disable", "--all", user="admin")
    det("agent", "enable", "--all", user="admin")
    used = det("resources", "raw", "2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z")
    assert re.search(rf"^{experiment},trial,determined,", used, re.MULTILINE)
    assert "total,total," in det("resources", "aggregated", "2026-01-01", "2099-01-01")
    assert re.search(r"Trials.*Training Time", det("preview-search", "const.yaml"))


def test_it_takes_files_from_checkpoints_and_deletes_many_experiments(det, cluster):
    ids = [
        int(re.search(r"Created experiment (\d+)", det("experiment", "create", "const.yaml", ".")).group(1))
        for _ in "ab"
    ]
    for id in ids:
        det("experiment", "wait", "--polling-interval", "1", id)
    listed = det("experiment", "list-checkpoints", ids[0])
    uuid = re.search(r"COMPLETED .*\b([0-9a-f]{8}-[0-9a-f-]{27})\b", listed).group(1)
    assert uuid in det("checkpoint", "describe", uuid)
    det("checkpoint", "rm", uuid, "--glob", "**/metadata.json", "--yes")
    left = cluster.get(f"checkpoints/{uuid}")["checkpoint"]
    assert left["state"] == "STATE_PARTIALLY_DELETED"
    assert "state-dict.pth" in left["resources"] and "metadata.json" not in left["resources"]
    det("checkpoint", "rm", uuid, "--glob", "**/*", "--yes")
    assert cluster.get(f"checkpoints/{uuid}")["checkpoint"]["state"] == "STATE_DELETED"
    det("experiment", "delete-tb-files", ids[0])
    det("experiment", "set", "log-retention", ids[0], "--forever")
    trial = cluster.get(f"experiments/{ids[0]}/trials")["trials"][0]["id"]
    assert cluster.get(f"trials/{trial}/remaining_log_retention_days")["remainingDays"] == -1
    det("experiment", "set", "log-retention", ids[0], "--days", "3")
    assert cluster.get(f"trials/{trial}/remaining_log_retention_days")["remainingDays"] == 3
    done = cluster.get("projects/1/experiments/archive", "POST", {"projectId": 1, "experimentIds": [*ids, 999]})[
        "results"
    ]
    assert [(result["id"], bool(result["error"])) for result in done] == [(ids[0], False), (ids[1], False), (999, True)]
    cluster.get("projects/1/experiments/delete", "DELETE", {"projectId": 1, "experimentIds": ids})
    wait_until(lambda: not {e["id"] for e in cluster.get("experiments")["experiments"]} & set(ids), "both are gone")


LISTS = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from determined.common.api import authentication, bindings as b
session = authentication.login(sys.argv[1], "determined", "", None)
trial = b.get_GetExperimentTrials(session, experimentId=int(sys.argv[2])).trials[0]
def condition(column, operator, value, kind):
    return {"kind": "field", "columnName": column, "operator": operator, "value": value, "type": kind}
def group(*children):
    both = {"kind": "group", "conjunction": "and", "children": children}
    return json.dumps({"filterGroup": both, "showArchived": True})
number = "COLUMN_TYPE_NUMBER"
found = b.post_SearchExperiments(session, body=b.v1SearchExperimentsRequest(
    filter=group(condition("id", "=", trial.experimentId, number)), sort="startTime=desc", limit=10, offset=0))
assert [one.experiment.id for one in found.experiments] == [trial.experimentId] and found.experiments[0].bestTrial
least = trial.searcherMetricValue
for operator, count in ((">=", 1), (">", 0)):
    runs = b.post_SearchRuns(session, body=b.v1SearchRunsRequest(filter=group(
        condition("experimentId", "=", trial.experimentId, number),
        condition("searcherMetricsVal", operator, least, number)), sort="validation.loss.last=asc"))
    assert len(runs.runs) == count, (operator, runs.runs)
names = next(b.get_ExpMetricNames(session, ids=[trial.experimentId]))
assert names.searcherMetrics and names.validationMetrics
(curve,) = b.get_CompareTrials(session, trialIds=[trial.id], maxDatapoints=5).trials
assert curve.metrics and all(len(series.data) <= 5 for series in curve.metrics)
project = b.get_GetExperiment(session, experimentId=trial.experimentId).experiment.projectId
columns = {c.column for c in b.get_GetProjectColumns(session, id=project).columns}
assert {"id", "hp.global_batch_size"} <= columns and any(c.startswith("validation.") for c in columns)
tree = b.get_GetModelDefTree(session, experimentId=trial.experimentId).files
assert "model_def.py" in {node.path for node in tree}
wanted = b.v1GetModelDefFileRequest(path="model_def.py")
assert b.post_GetModelDefFile(session, body=wanted, experimentId=trial.experimentId).file
setting = b.v1UserWebSetting(key="k", storagePath="s", value="v")
b.post_PostUserSetting(session, body=b.v1PostUserSettingRequest(settings=[setting]))
assert [(s.key, s.value) for s in b.get_GetUserSetting(session).settings] == [("k", "v")]
assert next(b.get_TrialLogsFields(session, trialId=trial.id)).sources
print("all of it")
"""


def test_its_pages_lists_and_charts_are_answered(client, cluster, experiment):
    done = subprocess.run(
        [str(client / "python"), "-c", LISTS, cluster.url, str(experiment)],
        env=environment_of(cluster),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0 and "all of it" in done.stdout, done.stdout + done.stderr


SDK = """
import sys, warnings
warnings.filterwarnings("ignore")
from determined.experimental import client
client.login(sys.argv[1], "determined", "")
experiment = client.create_experiment(config="const.yaml", model_dir=".")
assert experiment.wait(interval=1) == client.ExperimentState.COMPLETED
best = experiment.top_checkpoint()
trial = experiment.get_trials()[0]
assert trial.id and best.uuid and experiment.top_n_checkpoints(2)
reports = list(trial.stream_validation_metrics()) + list(client.stream_trials_training_metrics([trial.id]))
assert reports, "no metrics"
model = client.create_model("from-sdk")
version = model.register_version(best.uuid)
assert client.get_model("from-sdk").get_version().checkpoint.uuid == best.uuid
best.add_metadata({"kept": "yes"})
assert client.get_checkpoint(best.uuid).metadata["kept"] == "yes"
experiment.set_description("by the SDK")
experiment.add_label("sdk")
experiment.archive()
assert client.get_experiment(experiment.id).archived
assert any(e.id == experiment.id for e in client.list_experiments())
print("all of it")
"""


def test_its_sdk_works(client, cluster):
    done = subprocess.run(
        [str(client / "python"), "-c", SDK, cluster.url],
        env=environment_of(cluster),
        cwd=NOISY,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0 and "all of it" in done.stdout, done.stdout + done.stderr


# Calls every function of the client that reads something, with what there is, and says how it ended.
READ_ALL = """
import inspect, sys, warnings
warnings.filterwarnings("ignore")
from determined.common.api import authentication, bindings, errors
session = authentication.login(sys.argv[1], "admin", "", None)
experiment = bindings.get_GetExperiments(session).experiments[0]
trial = bindings.get_GetExperimentTrials(session, experimentId=experiment.id).trials[0]
checkpoint = bindings.get_GetExperimentCheckpoints(session, id=experiment.id).checkpoints[0]
agent = bindings.get_GetAgents(session).agents[0].id
values = {"experimentId": experiment.id, "trialId": trial.id, "trialIds": [trial.id], "taskId": trial.taskId,
          "agentId": agent, "slotId": "0", "resourcePool": "default", "resourcePoolName": "default", "userId": 1,
          "username": "admin", "workspaceId": 1, "projectId": 1, "id": 1, "key": "UNCAT", "modelName": "resnet",
          "checkpointUuid": checkpoint.uuid, "ids": [experiment.id], "resourcePools": ["default"]}
own = {"get_GetExperimentCheckpoints": {"id": experiment.id}, "get_GetTrialCheckpoints": {"id": trial.id}}
for name, function in sorted(inspect.getmembers(bindings, inspect.isfunction)):
    if not name.startswith("get_"):
        continue
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    if not set(needed) <= set(values):
        continue
    try:
        answer = function(session, **{n: own.get(name, values).get(n, values.get(n)) for n in needed})
        if inspect.isgenerator(answer):
            list(answer)
        print("read", name)
    except errors.NotFoundException:
        print("read", name)
    except errors.APIException as error:
        absent = "not found in this API" in str(error) or "expected an id" in str(error)  # its last word
        print("absent" if absent else f"failed: {error}", name)
    except Exception as error:
        print(f"unreadable: {error!r}", name)
"""


def test_every_reply_can_be_read_by_its_code(client, cluster, det, experiment):
    done = subprocess.run(
        [str(client / "python"), "-c", READ_ALL, cluster.url],
        env=environment_of(cluster),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    ended = [line.rpartition(" ") for line in done.stdout.splitlines()]
    assert [f"{how} {name}" for how, _, name in ended if how != "read"] == []
    assert len([how for how, _, _ in ended if how == "read"]) > 30


def test_it_sets_and_reads_configuration_policies(det, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("constraints: {priority_limit: 30}\n")
    assert "priority_limit: 30" in det("config-policies", "set", "experiment", policy, user="admin")
    assert "priority_limit: 30" in det("config-policies", "describe", "experiment")
    assert "the cluster's policy allows no number below 30" in det(
        "experiment", "create", "const.yaml", ".", "--config", "resources.priority=3", code=1
    )
    assert "deleted" in det("config-policies", "delete", "experiment", user="admin")
