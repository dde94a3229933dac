"""Experiments from Python: submitted, followed, commanded; scripts that submit themselves."""

import json
import shutil
import subprocess

import pytest
from cluster import HERE
from sdk import SHORT, popen_python, run_python


def test_the_commit_of_a_submission_is_remembered(cluster, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(HERE / "models" / "noisy", model, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=model, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=model, check=True, capture_output=True, text=True).stdout
    program = SHORT + "print(client.create_experiment(config, 'model', activate=False).id)"
    clean = int(run_python(cluster, program, tmp_path))
    (model / "more.py").write_text("")
    config = model / "const.yaml"
    config.write_text(
        "name: by hand\nentrypoint: model_def:NoisyTrial\nhyperparameters: {global_batch_size: 8}\n"
        "searcher: {name: single, metric: validation_loss, max_length: {batches: 60}}\n"
    )
    text = cluster.run("experiment", "create", config, model, "--paused")
    dirty = int(text.split("Created experiment ")[1].split()[0])
    for id, changed in ((clean, False), (dirty, True)):
        git = cluster.experiment(id)["git"]
        assert (git["commit"], git["branch"], git["dirty"]) == (commit.strip(), "main", changed)
        shown = cluster.run("experiment", "describe", id)
        assert commit[:12] + (" (main, changed)" if changed else " (main)") in shown
        cluster.run("experiment", "kill", id)


CREATES = """
import sys
from determined.experimental import create
import model_def

words = sys.argv[1:]

class Mine(model_def.NoisyTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        print("trained with", words)
        if "wrong" in words:
            raise ArithmeticError("so it goes")
        return super().train_batch(batch, epoch_idx, batch_idx)

config = {
    "hyperparameters": {"global_batch_size": 8, "seconds_per_batch": 0.0}, "description": "mine",
    "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": 500}},
}
experiment = create(Mine, config, context_dir=".", test=True)
print("experiment", experiment.id, experiment.state.name)
"""


@pytest.mark.parametrize("test", [False, True])
def test_a_script_of_the_first_generation_says_how_many_batches_a_step_has(cluster, tmp_path, test):
    shutil.copy(HERE / "models" / "noisy" / "model_def.py", tmp_path)
    older = CREATES.replace('"max_length": {"batches": 500}}', '"max_steps": 3}, "batches_per_step": 4')
    (tmp_path / "script.py").write_text(older.replace("test=True", f"test={test}"))
    text = run_python(cluster, "import runpy, sys; sys.argv = ['script.py']; runpy.run_path('script.py')", tmp_path)
    id = int(text.split(" COMPLETED")[0].split()[-1])
    (trial,) = cluster.get(f"experiments/{id}/trials")["trials"]
    assert trial["totalBatchesProcessed"] == (1 if test else 12)


def test_the_command_line_is_a_module_too(cluster, tmp_path):
    program = "import runpy, sys; sys.argv = ['det', 'master', 'info', '--json']; runpy.run_module('determined.cli')"
    assert "clusterId" in run_python(cluster, program, tmp_path)


@pytest.mark.parametrize("words", [["fine"], ["wrong"]])
def test_a_script_tests_its_trial_on_the_cluster(cluster, tmp_path, words):
    shutil.copy(HERE / "models" / "noisy" / "model_def.py", tmp_path)
    (tmp_path / "script.py").write_text(CREATES)
    text = run_python(
        cluster, f"import runpy, sys; sys.argv = ['script.py', *{words}]; runpy.run_path('script.py')", tmp_path
    )
    fine = words == ["fine"]
    state = "COMPLETED" if fine else "ERROR"
    assert f"trained with {words}" in text, "the trial's log is shown, and the script ran with its arguments there"
    id = int(text.split(f" {state}")[0].split()[-1])
    experiment = cluster.experiment(id)
    assert (experiment["state"], experiment["archived"]) == (f"STATE_{state}", True)
    assert experiment["description"] == "[test-mode] mine"
    (trial,) = cluster.get(f"experiments/{id}/trials")["trials"]
    if not fine:
        assert "ArithmeticError: so it goes" in text and "(run 2)" not in text
        return
    assert [steps for steps, _ in cluster.metrics(trial["id"], "training")] == [1]
    assert [steps for steps, _ in cluster.metrics(trial["id"], "validation")] == [1]
    assert all(c["state"] != "STATE_COMPLETED" for c in cluster.get(f"trials/{trial['id']}/checkpoints")["checkpoints"])


def test_an_experiment_is_commanded(cluster, tmp_path):
    run_python(
        cluster,
        SHORT
        + """
import pathlib, time
pathlib.Path("c.yaml").write_text(json.dumps(config))
config["searcher"]["max_length"] = {"batches": 100000}
config["hyperparameters"]["seconds_per_batch"] = 0.01
determined = Determined(user="determined", password="")
experiment = determined.create_experiment(config, NOISY, activate=False)
assert experiment.state.name == "PAUSED"
try:
    experiment.wait(interval=0.1)
    raise SystemExit("waited")
except ValueError as error:
    assert "is paused" in str(error)
experiment.activate()
trial = experiment.await_first_trial()
followed = trial.iter_logs(follow=True)
assert any("batch 5" in line for line in followed)
experiment.set_name("renamed")
experiment.add_label("b")
experiment.add_label("a")
experiment.remove_label("b")
assert determined.list_experiments(name="enamed", labels=["a"])[0].id == experiment.id
experiment.pause()
while experiment.state.name != "PAUSED":
    time.sleep(0.05); experiment.reload()
experiment.kill()
assert experiment.wait(interval=0.05).name == "CANCELED"
experiment.archive(); assert experiment.archived
experiment.unarchive(); assert not experiment.archived
experiment.delete()
""".replace("NOISY", repr(str(HERE / "models" / "noisy"))),
        tmp_path,
    )


def test_the_token_of_the_command_line_is_used_and_renewed(cluster, tmp_path):
    cluster.run("experiment", "list")
    file = cluster.directory / "config" / "determined" / "auth.json"
    ask = "from determined.experimental import Determined; print(Determined().whoami().username)"
    before = file.read_text()
    assert run_python(cluster, ask, tmp_path).strip() == "determined"
    assert file.read_text() == before
    file.write_text(before.replace(json.loads(before)["masters"][cluster.url]["tokens"]["determined"], "old"))
    assert run_python(cluster, ask, tmp_path).strip() == "determined"
    assert "old" not in file.read_text()
    cluster.run("experiment", "list")


def test_the_old_names_are_the_same_objects(cluster, tmp_path):
    run_python(
        cluster,
        """
import determined.experimental as new
import determined_common.experimental as old
from determined_common.api import errors
import determined.common.experimental as other
assert old.Determined is new.Determined is other.Determined
assert new.ExperimentReference is new.Experiment and new.TrialReference is new.Trial
""",
        tmp_path,
    )


def test_a_followed_log_outlives_the_master(start, tmp_path):
    cluster = start()
    program = (
        SHORT
        + """
config["searcher"]["max_length"] = {"batches": 400}
config["hyperparameters"]["seconds_per_batch"] = 0.02
trial = client.create_experiment(config, NOISY).await_first_trial()
for line in trial.iter_logs(follow=True):
    print(line, end="", flush=True)
""".replace("NOISY", repr(str(HERE / "models" / "noisy")))
    )
    following = popen_python(cluster, program, tmp_path)
    lines = []
    for line in following.stdout:
        lines.append(line)
        if "line 50 batch 50" in line:
            cluster.master.kill()
            cluster.start_master()
    assert following.wait() == 0
    said = [int(line.rpartition(" ")[2]) for line in lines if " batch " in line and " line " in line]
    assert said == sorted(set(said)) and said[-1] == 399, "each line once and in order"
