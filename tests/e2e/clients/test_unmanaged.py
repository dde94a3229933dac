"""Programs outside the cluster, tracked by a master: with our package, and with the original's from PyPI."""

import re
import subprocess
import sys

import pytest
from cluster import HERE, PATIENCE, REPOSITORY, wait_until

SCRIPT = HERE / "models" / "unmanaged" / "train.py"


OPTIONS = ["--slots", "1"]


@pytest.fixture(params=["ours", "original"])
def program(request, cluster, tmp_path):
    """Starts the script with one of the packages; gives what it printed."""
    python, environment = sys.executable, dict(cluster.environment)
    if request.param == "original":
        python = request.getfixturevalue("original_client") / "python"
        environment.pop("PYTHONPATH", None)
    else:
        environment["PYTHONPATH"] = str(REPOSITORY / "python")
    environment |= {"DET_MASTER": cluster.url, "DET_USER": "determined", "DET_PASS": "", "HOME": str(tmp_path)}

    def run(*words, code=0, launcher=()):
        done = subprocess.run(
            [str(python), *launcher, str(SCRIPT), "--storage", str(tmp_path / "storage"), *map(str, words)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        text = done.stdout + done.stderr
        assert done.returncode == code, f"ended with {done.returncode}:\n{text}"
        return text

    run.kind = request.param
    return run


def newest(cluster):
    return cluster.get("experiments?sort_by=SORT_BY_ID&order_by=ORDER_BY_DESC&limit=1")["experiments"][0]


def trials_of(cluster, experiment):
    return cluster.get(f"experiments/{experiment['id']}/trials")["trials"]


def steps_of(cluster, trial, group):
    lines = cluster.get(f"trials/metrics/trial_metrics?trialIds={trial['id']}&group={group}")
    lines = lines if isinstance(lines, list) else [lines]
    return [report["totalBatches"] for line in lines for report in line["result"]["metrics"]]


def log_of(cluster, trial):
    lines = cluster.get(f"trials/{trial['id']}/logs")
    return "".join(line["result"]["log"] for line in (lines if isinstance(lines, list) else [lines]))


def test_a_program_is_tracked_from_its_start_to_its_end(cluster, program):
    program()
    experiment = newest(cluster)
    assert (experiment["name"], experiment["state"], experiment["unmanaged"]) == ("outside", "STATE_COMPLETED", True)
    assert (experiment["labels"], experiment["description"]) == (["outside"], "a laptop")
    assert experiment["username"] == "determined"
    (trial,) = trials_of(cluster, experiment)
    assert (trial["state"], trial["hparams"], trial["restarts"]) == ("STATE_COMPLETED", {"lr": 0.1}, 0)
    assert trial["searcherMetricValue"] == pytest.approx(0.9**10)
    assert steps_of(cluster, trial, "training") == list(range(1, 11))
    assert trial["checkpointCount"] == 2
    assert "rank 0 begins at step 0" in log_of(cluster, trial)
    listed = cluster.run("experiment", "list")
    assert re.search(rf"\b{experiment['id']}\b.*unmanaged", listed), listed
    assert "outside the cluster" in cluster.run("experiment", "pause", experiment["id"], code=None)


def test_killed_in_the_middle_it_goes_on_from_its_latest_checkpoint(cluster, program):
    names = ["--experiment", f"study-{program.kind}", "--trial", "a"]
    program(*names, "--die-at", 7, code=-9)
    experiment = newest(cluster)
    assert experiment["state"] == "STATE_RUNNING", "nothing has said yet that it is dead"
    text = program(*names)
    assert "begins at step 4" in text
    assert newest(cluster)["id"] == experiment["id"], "the name is the same"
    (trial,) = trials_of(cluster, experiment)
    assert (trial["state"], trial["restarts"]) == ("STATE_COMPLETED", 1)
    assert steps_of(cluster, trial, "training") == list(range(1, 11)), "each step once"
    assert trial["searcherMetricValue"] == pytest.approx(0.9**10)
    found = cluster.get(f"trials/by-external-id/study-{program.kind}/a")["trial"]
    assert found["id"] == trial["id"]


def test_trials_of_one_name_are_one_experiment(cluster, program):
    for name in ("a", "b"):
        program("--experiment", f"search-{program.kind}", "--trial", name)
    experiment = newest(cluster)
    assert [trial["state"] for trial in trials_of(cluster, experiment)] == ["STATE_COMPLETED"] * 2
    assert experiment["numTrials"] == 2


def test_how_it_ended_is_known(cluster, program):
    program("--fail-at", 3, code=1)
    (trial,) = trials_of(cluster, newest(cluster))
    assert trial["state"] == "STATE_ERROR"
    assert newest(cluster)["state"] == "STATE_ERROR"
    if program.kind == "ours":
        assert "the data is broken" in trial["error"]
    program("--exit", 3, code=3)
    assert newest(cluster)["state"] == "STATE_ERROR"
    program("--exit", 0)
    assert newest(cluster)["state"] == "STATE_COMPLETED"


def test_the_master_may_be_away_for_a_while(cluster, program, tmp_path):
    if program.kind == "original":
        pytest.skip("the original's client gives up")
    import threading

    ended = []
    thread = threading.Thread(target=lambda: ended.append(program("--pause", 0.3)))
    thread.start()
    before = newest(cluster)["id"]
    wait_until(lambda: newest(cluster)["id"] != before, "its experiment")
    wait_until(
        lambda: (found := trials_of(cluster, newest(cluster))) and steps_of(cluster, found[0], "training"), "steps"
    )
    cluster.master.kill()
    cluster.start_master()
    thread.join(PATIENCE)
    assert ended
    (trial,) = trials_of(cluster, newest(cluster))
    assert (trial["state"], steps_of(cluster, trial, "training")) == ("STATE_COMPLETED", list(range(1, 11)))


def test_several_processes_are_one_trial(cluster, program):
    if program.kind == "original":
        pytest.skip("its environment has no torch")
    text = program(launcher=["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29731"])
    assert "rank 1 is done" in text
    experiment = newest(cluster)
    (trial,) = trials_of(cluster, experiment)
    assert (experiment["state"], trial["state"]) == ("STATE_COMPLETED", "STATE_COMPLETED")
    assert steps_of(cluster, trial, "training") == list(range(1, 11))
    assert "rank 1 is done" in log_of(cluster, trial)
