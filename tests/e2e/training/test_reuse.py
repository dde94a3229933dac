"""Trials that run one after the other in the same process, with ``reuse: true``, or in forks of one process."""

import re
import shutil

import pytest
import yaml
from cluster import HERE, wait_until

SCRIPT = """
import os, pathlib, time
import determined as det
import torch

info = det.get_cluster_info()
x = info.trial.hparams["x"]
torch.use_deterministic_algorithms(x == 5)
print("trial", info.trial.trial_id, "in", os.getcwd(), "beside", sorted(os.listdir(".")))
pathlib.Path("left behind").touch()
with det.core.init() as context:
    for operation in context.searcher.operations():
        if x == 3 and info.trial.trial_run_id == 1:
            os.abort()
        time.sleep(0.1 if info.trial.hparams["slow"] else 0)
        context.train.report_validation_metrics(operation.length, {"loss": x})
        operation.report_completed(x)
"""
FILES = "['const.yaml', 'train.py']"


@pytest.fixture
def script(tmp_path):
    """The directory of a grid of trials that take no time."""

    def write(*, slow=False, values=6, workers=1):
        folder = tmp_path / "definition"
        folder.mkdir()
        (folder / "train.py").write_text(SCRIPT)
        grid = {"type": "categorical", "vals": list(range(1, values + 1))}
        config = {
            "name": "grid",
            "entrypoint": "python3 train.py",
            "hyperparameters": {"x": grid, "slow": slow},
            "searcher": {
                "name": "grid",
                "metric": "loss",
                "max_length": {"batches": 1},
                "max_concurrent_trials": workers,
            },
            "max_restarts": 1,
            "reuse": True,
        }
        (folder / "const.yaml").write_text(yaml.safe_dump(config))
        return folder

    return write


def trials_of(cluster, experiment):
    return sorted(cluster.get(f"experiments/{experiment}/trials?limit=-1")["trials"], key=lambda trial: trial["id"])


def places(cluster, trial):
    """Where its runs were, as its log says, which has nothing of another trial."""
    lines = [line["log"].rstrip("\n") for line in cluster.log_lines(trial)]
    found = [re.fullmatch(r"trial (\d+) in (\S+) beside (.*)", line) for line in lines]
    assert all(match[1] == str(trial) and match[3] == FILES for match in found if match), lines
    return [match[2] for match in found if match]


def deterministic(cluster, trial):
    """By run, as its environment says."""
    found = cluster.get(f"trials/{trial}/environment")["environments"]
    return {
        place["runId"]: environment["environment"]["switches"]["deterministic_algorithms"]
        for environment in found
        for place in environment["found"]
    }


def test_a_crash_ends_the_process_and_the_next_trials_share_another_one(start, script):
    cluster = start(options=["--slots", "1"])
    experiment = cluster.create(script())
    cluster.wait_for_state(experiment, "COMPLETED")
    trials = trials_of(cluster, experiment)
    assert sorted(trial["searcherMetricValue"] for trial in trials) == [1, 2, 3, 4, 5, 6]
    for trial in trials:
        crashed = trial["hparams"]["x"] == 3
        assert trial["restarts"] == crashed
        runs = places(cluster, trial["id"])
        assert len(runs) == len(set(runs)) == (2 if crashed else 1)
        assert deterministic(cluster, trial["id"]) == dict.fromkeys(range(1, 1 + len(runs)), trial["hparams"]["x"] == 5)
    assert len({place for trial in trials for place in places(cluster, trial["id"])}) == 2
    wait_until(lambda: not list((cluster.agent_directory / "reused").iterdir()), "the files of the processes are gone")


def test_trial_classes_train_with_the_same_numbers_in_forks_and_in_one_process(start, tmp_path):
    folder = shutil.copytree(HERE / "models" / "parts", tmp_path / "definition")
    cluster = start(options=["--slots", "1"])
    forked, shared = (
        cluster.create(folder, "--config", f"reuse={word}", "--config", "searcher.max_concurrent_trials=1")
        for word in ("false", "true")
    )
    for experiment in (forked, shared):
        cluster.wait_for_state(experiment, "COMPLETED")
    pairs = list(zip(trials_of(cluster, forked), trials_of(cluster, shared), strict=True))
    assert len(pairs) == 6
    for one, other in pairs:
        assert one["hparams"] == other["hparams"]
        for group in ("training", "validation"):
            assert cluster.metrics(one["id"], group) == cluster.metrics(other["id"], group)
    taken_over = re.findall(r"starting \S+ in process (\d+), which has run another trial", cluster.master.output())
    assert len(taken_over) == 10 and len(set(taken_over)) == 2


def test_kill_nine_of_the_platform_starts_no_trial_twice(start, script):
    cluster = start(options=["--slots", "2"])
    experiment = cluster.create(script(slow=True, values=24, workers=2))
    for count in (4, 12):
        wait_until(
            lambda count=count: sum(t["state"] == "STATE_COMPLETED" for t in trials_of(cluster, experiment)) >= count,
            f"{count} trials",
        )
        cluster.master.kill()
        cluster.start()
    cluster.wait_for_state(experiment, "COMPLETED")
    trials = trials_of(cluster, experiment)
    assert [trial["restarts"] for trial in trials] == [1 if trial["hparams"]["x"] == 3 else 0 for trial in trials]
    for trial in trials:
        assert len(cluster.metrics(trial["id"], "validation")) == 1
        assert len(places(cluster, trial["id"])) == 1 + trial["restarts"]


def test_a_pause_ends_the_process_of_a_reused_trial_and_it_goes_on(start, script):
    cluster = start(options=["--slots", "1"])
    experiment = cluster.create(script(slow=True, values=12))
    wait_until(lambda: len(trials_of(cluster, experiment)) >= 3, "three trials")
    cluster.run("experiment", "pause", experiment)
    cluster.wait_for_state(experiment, "PAUSED")
    wait_until(lambda: not cluster.shims(), "no process runs")
    cluster.run("experiment", "activate", experiment)
    cluster.wait_for_state(experiment, "COMPLETED")
    assert len({trial["hparams"]["x"] for trial in trials_of(cluster, experiment)}) == 12
