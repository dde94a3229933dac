"""Checkpoints as users know them: the Python SDK and the model registry against a whole cluster."""

import json

import pytest
from cluster import HERE
from sdk import SHORT, run_python
from sdk_programs import MORE_OF_A_TRIAL, PEOPLE_AND_PLACES


@pytest.fixture(scope="module")
def trained(cluster):
    """The id of an experiment of three checkpoints that the SDK submitted, waited for and described."""
    text = run_python(
        cluster,
        SHORT
        + """
experiment = client.create_experiment(config, "noisy")
trial = experiment.await_first_trial()
assert experiment.wait(interval=0.1) is client.ExperimentState.COMPLETED
assert repr(experiment) == f"Experiment(id={experiment.id})" and repr(trial) == f"Trial(id={trial.id})"
print(experiment.id)
""",
        HERE / "models",
    )
    return int(text)


def test_the_best_checkpoints_are_found(cluster, trained, tmp_path):
    run_python(
        cluster,
        f"""
from determined.experimental import Determined
experiment = Determined().get_experiment({trained})
assert experiment.config["searcher"]["metric"] == "validation_loss"
(trial,) = experiment.get_trials()
losses = {{m.steps_completed: m.metrics["validation_loss"] for m in trial.stream_validation_metrics()}}
assert sorted(losses) == [20, 40, 60]
best = min(losses, key=losses.get)
worst = max(losses, key=losses.get)
checkpoint = experiment.top_checkpoint()
assert checkpoint.batch_number == best and checkpoint.training.searcher_metric == losses[best]
assert trial.top_checkpoint().uuid == checkpoint.uuid
assert [c.uuid for c in experiment.top_n_checkpoints(5)] == [checkpoint.uuid], "one of each trial"
assert experiment.top_checkpoint("validation_loss", False).batch_number == worst
assert experiment.top_checkpoint("validation_loss").batch_number == best
assert trial.select_checkpoint(latest=True).batch_number == 60
assert trial.select_checkpoint(uuid=checkpoint.uuid).uuid == checkpoint.uuid
assert [c.batch_number for c in experiment.list_checkpoints()] == [20, 40, 60]
training = list(trial.iter_metrics("training"))
assert [m.steps_completed for m in training] == [10, 20, 30, 40, 50, 60]
assert len(training[0].batch_metrics) == 10
lines = list(trial.logs(head=500))
assert any("line 0 batch 0" in line for line in lines)
assert list(trial.iter_logs(tail=3)) == list(trial.logs())[-3:]
from determined.common.check import CheckFailedError
for wrong in ({{}}, {{"latest": True, "best": True}}, {{"best": True, "sort_by": "validation_loss"}}):
    try:
        trial.select_checkpoint(**wrong)
        raise SystemExit(wrong)
    except CheckFailedError:
        pass
""",
        tmp_path,
    )


def test_what_a_trial_ran_in_is_recorded(cluster, trained, tmp_path):
    run_python(
        cluster,
        f"""
import platform, torch
from determined.experimental import client
(trial,) = client.get_experiment({trained}).list_trials()
found = trial.get_environment()
(environment,) = found.environments
assert found.runs == [[1]]
assert environment["versions"]["torch"] == torch.__version__
assert any(package.startswith("torch==") for package in environment["packages"])
assert environment["hardware"]["hostname"] == platform.node()
assert environment["switches"]["deterministic_algorithms"] is True
assert environment["variables"]["PYTHONHASHSEED"] == "0"
assert found.seeds["experiment"] == 3 and found.seeds["trial"] > 0
""",
        tmp_path,
    )
    shown = cluster.run("trial", "describe", 1)
    assert "deterministic_algorithms: True" in shown and "numpy==" in shown
    assert json.loads(cluster.run("trial", "describe", 1, "--json"))["seeds"]["experiment"] == 3


def test_a_checkpoint_is_loaded_and_loaded_again_without_a_cluster(cluster, trained, tmp_path):
    run_python(
        cluster,
        f"""
import pathlib
from determined.experimental import client
checkpoint = client.get_experiment({trained}).top_checkpoint()
trial = checkpoint.load()
path = checkpoint.download()
assert path == f"checkpoints/{{checkpoint.uuid}}" and (pathlib.Path(path) / "code" / "model_def.py").is_file()
assert type(trial).__name__ == "NoisyTrial"
reported = {{m.steps_completed: m.metrics["weights"] for m in
            client.get_trial(checkpoint.trial_id).stream_validation_metrics()}}
assert trial.checksum() == reported[checkpoint.batch_number]
copy = checkpoint.download("from_master", mode=client.DownloadMode.MASTER)
names = lambda p: sorted(str(f.relative_to(p)) for f in pathlib.Path(p).rglob("*") if f.name != ".det-manifest.json")
assert names(copy) == names(path)
pathlib.Path("full").mkdir()
pathlib.Path("full/x").write_text("mine")
try:
    checkpoint.download("full")
    raise SystemExit("overwritten")
except FileExistsError as error:
    assert "not empty" in str(error)
pathlib.Path(path).rename("model")
""",
        tmp_path,
    )
    alone = """
import sys
from determined.experimental import Checkpoint
trial = Checkpoint.load_from_path("model")
from determined.pytorch import load_trial_from_checkpoint_path
again = load_trial_from_checkpoint_path("model")
assert trial.checksum() == again.checksum()
try:
    Checkpoint.load_from_path(".")
except FileNotFoundError as error:
    assert "metadata.json" in str(error)
"""
    run_python(cluster, alone, tmp_path, environment={"DET_MASTER": "127.0.0.1:1"})


def test_metadata_stays_at_the_master(cluster, trained, tmp_path):
    run_python(
        cluster,
        f"""
from determined.experimental import Determined
checkpoint = Determined().get_experiment({trained}).top_checkpoint()
checkpoint.add_metadata({{"quality": {{"good": True}}, "other": 1}})
checkpoint.add_metadata({{"quality": {{"better": True}}}})
again = Determined().get_checkpoint(checkpoint.uuid)
assert again.metadata["quality"] == {{"better": True}} and again.metadata["other"] == 1
assert again.batch_number == checkpoint.batch_number and again.framework.startswith("torch")
again.remove_metadata(["other", "unknown"])
assert "other" not in checkpoint.get_metadata()
""",
        tmp_path,
    )


def test_errors_say_what_is_wrong(cluster, trained, tmp_path):
    text = run_python(
        cluster,
        f"""
from determined.experimental import Determined, client
from determined.common.api import errors
def said(kind, call):
    try:
        call()
    except kind as error:
        print(error)
        return
    raise SystemExit("nothing was said")
d = Determined()
said(errors.NotFoundException, lambda: d.get_experiment(999))
said(errors.NotFoundException, lambda: d.get_trial(998))
said(errors.NotFoundException, lambda: d.get_checkpoint("no-such"))
said(errors.NotFoundException, lambda: d.get_model("no model"))
said(errors.BadRequestException, lambda: d.get_experiment({trained}).pause())
said(errors.BadRequestException, lambda: d.create_experiment({{"searcher": {{"name": "odd"}}}}, "."))
said(errors.UnauthenticatedException, lambda: Determined(user="nobody", password="x"))
said(errors.UnauthenticatedException, lambda: Determined(user="someone"))
said(errors.MasterNotFoundException, lambda: Determined("127.0.0.1:1"))
client.login(user="determined", password="")
said(ValueError, client.login)
assert client.whoami().username == client.get_session_username() == "determined"
client.logout()
other = Determined(user="determined", password="")
other.logout()
said(errors.UnauthenticatedException, other.whoami)
""",
        tmp_path,
    )
    for words in (
        "experiment '999' not found",
        "trial '998' not found",
        "checkpoint 'no-such' not found",
        "model 'no model' not found",
        "cannot be paused",
        "cannot log in at",
        "this session has logged out; create a new one to log in again",
        "det user login someone",
        "no master answers at http://127.0.0.1:1",
        "already logged in",
    ):
        assert words in text


def test_a_trial_starts_with_the_weights_of_another_and_with_nothing_else(cluster, trained, tmp_path):
    run_python(
        cluster,
        SHORT
        + """
from determined.common.api import errors
source = client.get_experiment(TRAINED).get_trials()[0]
latest = source.select_checkpoint(latest=True)
weights = {m.steps_completed: m.metrics["weights"] for m in source.iter_metrics("validation")}
config["perform_initial_validation"] = True
base = config["searcher"]
for field, value in (("source_trial_id", source.id), ("source_checkpoint_uuid", latest.uuid)):
    config["searcher"] = {**base, field: value}
    experiment = client.create_experiment(config, NOISY)
    assert experiment.wait(interval=0.1).name == "COMPLETED"
    (trial,) = experiment.get_trials()
    assert trial.warm_start_checkpoint_uuid == latest.uuid
    first = list(trial.iter_metrics("validation"))[0]
    assert (first.steps_completed, first.metrics["weights"]) == (0, weights[60])
    assert [m.steps_completed for m in trial.iter_metrics("training")] == [10, 20, 30, 40, 50, 60]
for field, value in (("source_trial_id", 12345), ("source_checkpoint_uuid", "00000000-0000-4000-8000-000000000000")):
    config["searcher"] = {**base, field: value}
    try:
        client.create_experiment(config, NOISY)
        raise SystemExit("accepted")
    except errors.BadRequestException as error:
        assert "no checkpoint found" in str(error) and str(value) in str(error)
""".replace("TRAINED", str(trained)).replace("NOISY", repr(str(HERE / "models" / "noisy"))),
        tmp_path,
    )


def test_what_a_running_trial_starts_from_cannot_be_deleted(cluster, trained, tmp_path):
    run_python(
        cluster,
        SHORT
        + """
from determined.common.api import errors
latest = client.get_experiment(TRAINED).get_trials()[0].select_checkpoint(latest=True)
config["searcher"]["source_checkpoint_uuid"] = latest.uuid
experiment = client.create_experiment(config, NOISY, activate=False)
for call in (latest.delete, client.get_experiment(TRAINED).delete):
    try:
        call()
        raise SystemExit("deleted")
    except errors.BadRequestException as error:
        assert f"trial {experiment.get_trials()[0].id} of experiment {experiment.id} starts" in str(error)
experiment.kill()
experiment.wait(interval=0.1)
""".replace("TRAINED", str(trained)).replace("NOISY", repr(str(HERE / "models" / "noisy"))),
        tmp_path,
    )


def test_people_and_places_are_managed(cluster, trained, tmp_path):
    run_python(cluster, PEOPLE_AND_PLACES.replace("TRAINED", str(trained)), tmp_path)


def test_more_of_a_trial_is_read(cluster, trained, tmp_path):
    run_python(cluster, MORE_OF_A_TRIAL.replace("TRAINED", str(trained)), tmp_path)


def test_files_of_a_checkpoint_are_removed(cluster, tmp_path):
    run_python(
        cluster,
        SHORT
        + """
from determined.errors import CheckpointStateException
experiment = client.create_experiment(config, NOISY)
experiment.wait(interval=0.1)
checkpoint = experiment.top_checkpoint()
checkpoint.remove_files([])
assert checkpoint.state is client.CheckpointState.COMPLETED
checkpoint.remove_files(["state?dict.pth", "**/search.yaml"])
assert checkpoint.state is client.CheckpointState.PARTIALLY_DELETED
assert "trial-state.pth" in checkpoint.resources and "state-dict.pth" not in checkpoint.resources
checkpoint.download("rest")
checkpoint.delete()
try:
    checkpoint.download("all")
    raise SystemExit("downloaded")
except CheckpointStateException as error:
    assert "is DELETED" in str(error)
""".replace("NOISY", repr(str(HERE / "models" / "noisy"))),
        tmp_path,
    )
