"""The real client of MLflow, with the master as its tracking server."""

import json
import subprocess
import sys

import pytest
from cluster import PATIENCE

pytest.importorskip("mlflow")

OPTIONS = ["--slots", "1"]


@pytest.fixture
def program(cluster, tmp_path):
    """Runs a program of an MLflow user, and gives what it printed."""

    session = cluster.get("auth/login", "POST", {"username": "determined", "password": ""})

    def run(text, code=0, **more):
        environment = dict(cluster.environment) | {
            "MLFLOW_TRACKING_URI": cluster.url,
            "MLFLOW_TRACKING_TOKEN": session["token"],
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "HOME": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=environment | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def named(cluster, name):
    (found,) = [e for e in cluster.get("experiments?limit=100")["experiments"] if e["name"] == name]
    return found


def test_a_run_with_params_metrics_tags_and_files_is_shown_in_the_platform(cluster, program):
    program("""
import mlflow
mlflow.set_experiment("digits")
with mlflow.start_run(run_name="first", tags={"team": "lab"}) as run:
    mlflow.log_params({"lr": 0.1, "layers": 3})
    for step in range(5):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
    mlflow.log_metrics({"accuracy": 0.9, "nan": float("nan")}, step=4)
    mlflow.log_text("hello", "notes/hello.txt")
    mlflow.log_dict({"a": 1}, "config.json")
client = mlflow.MlflowClient()
found = client.get_run(run.info.run_id)
assert found.info.status == "FINISHED" and found.info.run_name == "first", found
assert found.data.params == {"lr": "0.1", "layers": "3"}
assert found.data.metrics["loss"] == 0.2 and found.data.tags["team"] == "lab"
assert [m.step for m in client.get_metric_history(run.info.run_id, "loss")] == [0, 1, 2, 3, 4]
assert [f.path for f in client.list_artifacts(run.info.run_id)] == ["config.json", "notes"]
assert [f.path for f in client.list_artifacts(run.info.run_id, "notes")] == ["notes/hello.txt"]
assert mlflow.artifacts.load_text(found.info.artifact_uri + "/notes/hello.txt") == "hello"
client.set_terminated(run.info.run_id, "FAILED")
assert client.get_run(run.info.run_id).info.status == "FAILED"
client.set_terminated(run.info.run_id, "FINISHED")
""")
    experiment = named(cluster, "digits")
    assert experiment["state"] == "STATE_COMPLETED"
    (trial,) = cluster.get(f"experiments/{experiment['id']}/trials")["trials"]
    assert trial["hparams"] == {"lr": "0.1", "layers": "3"}
    lines = cluster.get(f"trials/metrics/trial_metrics?trialIds={trial['id']}&group=training")
    lines = lines if isinstance(lines, list) else [lines]
    steps = [report["totalBatches"] for line in lines for report in line["result"]["metrics"]]
    assert steps == [0, 1, 2, 3, 4]
    kept = cluster.get(f"trials/{trial['id']}/checkpoints")["checkpoints"]
    assert {one["metadata"]["artifact"] for one in kept} == {"notes/hello.txt", "config.json"}
    assert cluster.get(f"runs/{trial['id']}/metadata")["metadata"]["mlflow"]["tags"]["team"] == "lab"


def test_runs_are_nested_searched_deleted_and_restored(cluster, program):
    text = program("""
import json, mlflow
mlflow.set_experiment("search")
with mlflow.start_run(run_name="parent") as parent:
    for lr in (0.1, 0.2, 0.3):
        with mlflow.start_run(run_name=f"child {lr}", nested=True):
            mlflow.log_param("lr", lr)
            mlflow.log_metric("loss", 1 - lr)
client = mlflow.MlflowClient()
(experiment,) = client.search_experiments(filter_string="name = 'search'")
ids = [experiment.experiment_id]
filter = f"tags.mlflow.parentRunId = '{parent.info.run_id}' and metrics.loss < 0.85"
found = client.search_runs(ids, filter, order_by=["metrics.loss ASC"])
assert [run.data.params["lr"] for run in found] == ["0.3", "0.2"], found
page = client.search_runs(ids, max_results=3)
assert len(page) == 3 and len(client.search_runs(ids, page_token=page.token)) == 1
client.delete_run(found[0].info.run_id)
assert len(client.search_runs(ids, filter)) == 1
client.restore_run(found[0].info.run_id)
assert len(client.search_runs(ids, filter)) == 2
client.set_experiment_tag(ids[0], "owner", "anna")
client.rename_experiment(ids[0], "renamed")
client.delete_experiment(ids[0])
assert client.get_experiment(ids[0]).lifecycle_stage == "deleted"
client.restore_experiment(ids[0])
assert client.get_experiment_by_name("renamed").tags == {"owner": "anna"}
for call in (lambda: client.get_run("0" * 32), lambda: client.log_param(found[0].info.run_id, "lr", 5)):
    try:
        call()
    except mlflow.MlflowException as error:
        print(error.error_code)
""")
    assert text.split()[-2:] == ["RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"]
    assert named(cluster, "renamed")["numTrials"] == 4


def test_a_wrong_password_is_refused(cluster, program):
    ask = "import mlflow; mlflow.MlflowClient().create_experiment('mine')"
    wrong = {"MLFLOW_TRACKING_USERNAME": "determined", "MLFLOW_TRACKING_PASSWORD": "wrong"}
    assert "invalid credentials" in program(ask, code=1, MLFLOW_TRACKING_TOKEN="", **wrong)


def test_a_program_without_an_experiment_gets_the_default_one(cluster, program):
    program("import mlflow\nwith mlflow.start_run(): mlflow.log_metric('x', 1)\n")
    assert named(cluster, "Default")["numTrials"] == 1


def test_autolog_of_scikit_learn_logs_params_metrics_and_the_model(cluster, program):
    pytest.importorskip("sklearn")
    text = program("""
import json, mlflow, mlflow.sklearn
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
mlflow.set_experiment("iris")
mlflow.sklearn.autolog(log_datasets=False)
x, y = load_iris(return_X_y=True)
with mlflow.start_run() as run:
    DecisionTreeClassifier(max_depth=2).fit(x, y)
found = mlflow.get_run(run.info.run_id)
models = mlflow.search_logged_models(experiment_ids=[run.info.experiment_id], output_format="list")
model = mlflow.sklearn.load_model(f"models:/{models[0].model_id}")
print(json.dumps([found.data.params["max_depth"], found.data.metrics["training_accuracy_score"], model.score(x, y)]))
""")
    depth, logged, loaded = json.loads(text.strip().splitlines()[-1])
    assert depth == "2" and logged > 0.9 and loaded == logged
