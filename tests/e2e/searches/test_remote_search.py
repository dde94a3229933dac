"""Searches driven by a trial of the cluster: it is killed and paused, and the search is as it would have been."""

import shutil
import time

import pytest
import yaml
from cluster import kill_process, wait_until
from test_custom_search import PROGRAM, check

METHOD = PROGRAM.format(pace=0.01).split("runner = ")[0]

# As written for the original.
PLAIN = """
import logging
import determined as det

logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
with det.core.init() as core_context:
    search_runner = searcher.RemoteSearchRunner(Halving(), context=core_context)
    search_runner.run("trial/custom.yaml", model_dir="trial")
    print("best", min(search_runner.search_method.seen.values()))
"""

# Dies of its own in the three moments that matter.
DYING = """
import os
import determined as det

class Dying(searcher.RemoteSearchRunner):
    def die_in_run(self, number):
        if self.info.trial.trial_run_id == number:
            os.kill(os.getpid(), 9)
    def _begin(self, experiment_id):
        self.die_in_run(1)  # it is submitted, and nobody remembers that
        return super()._begin(experiment_id)
    def _send(self, path, body):
        self.die_in_run(2)  # the answer is saved and not sent
        super()._send(path, body)
        self.die_in_run(3)  # it is sent, and nobody knows

with det.core.init() as context:
    Dying(Halving(), context).run("trial/custom.yaml", "trial")
"""


@pytest.fixture
def definition(noisy, tmp_path):
    """Writes the model definition of a runner with this script."""

    def write(script):
        folder = tmp_path / "runner"
        shutil.copytree(noisy, folder / "trial", dirs_exist_ok=True)
        config = yaml.safe_load((noisy / "const.yaml").read_text())
        searched = {"name": "custom", "metric": "validation_loss", "smaller_is_better": True, "unit": "batches"}
        config |= {"name": "searched", "searcher": searched}
        config.pop("min_validation_period")
        (folder / "trial" / "custom.yaml").write_text(yaml.safe_dump(config) + "# the last line")
        (folder / "search.py").write_text(METHOD + script)
        runner = {
            "name": "the runner",
            "entrypoint": "python3 search.py",
            "searcher": {"name": "single", "metric": "none", "max_length": 1000},
            "resources": {"slots_per_trial": 0},
            "max_restarts": 10,
        }
        (folder / "const.yaml").write_text(yaml.safe_dump(runner))
        return folder

    return write


def searched(cluster):
    """The experiment that the runner submitted: there is one only."""
    found = [e for e in cluster.get("experiments")["experiments"] if e["name"] == "searched"]
    assert len(found) <= 1, "it was submitted twice"
    return found[0] if found else None


@pytest.fixture
def undisturbed(start, definition):
    cluster = start(options=["--slots", "2"])
    id = cluster.create(definition(PLAIN))
    cluster.wait_for_state(id, "COMPLETED")
    assert searched(cluster)["forkedFrom"] == id
    runner = cluster.experiment(id)
    assert runner["progress"] == 1
    assert "best 0." in cluster.log_text(id)
    checkpoints = cluster.get(f"experiments/{id}/checkpoints")["checkpoints"]
    kept = [c["metadata"]["experiment_id"] for c in checkpoints if c["state"] == "STATE_COMPLETED"]
    assert kept == [searched(cluster)["id"]], "the newest state, and no other"
    return check(cluster, searched(cluster)["id"])


def test_a_runner_that_is_killed_in_the_worst_moments_changes_nothing(start, definition, undisturbed):
    cluster = start(options=["--slots", "2"])
    id = cluster.create(definition(DYING))
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.trial_of(id)["restarts"] == 3
    assert check(cluster, searched(cluster)["id"]) == undisturbed


def test_a_runner_is_killed_and_paused_and_so_is_the_master(start, definition, undisturbed):
    cluster = start(options=["--slots", "2"])
    id = cluster.create(definition(PLAIN))

    def runner():
        own = cluster.shims(f"{cluster.trial_of(id)['taskId']}.*")
        return [shim["taskPid"] for shim in own if shim["taskPid"] > 1]

    for round in range(3):
        (pid,) = wait_until(runner, "the runner's process")
        time.sleep(0.3 + 0.2 * round)
        if cluster.experiment(id)["state"] == "STATE_COMPLETED":
            break
        if round == 1:
            cluster.master.kill()
            cluster.start_master()
        kill_process(pid)
        wait_until(lambda old=pid: old not in runner(), "its end")
    if cluster.experiment(id)["state"] != "STATE_COMPLETED":
        cluster.run("experiment", "pause", id)
        cluster.wait_for_state(id, "PAUSED", "COMPLETED")
        wait_until(lambda: not runner(), "the runner to give way", 20)
        cluster.run("experiment", "activate", id)
    cluster.wait_for_state(id, "COMPLETED")
    assert check(cluster, searched(cluster)["id"]) == undisturbed


def test_a_task_is_its_owner_without_a_login(start):
    cluster = start(options=["--slots", "1"])
    cluster.run("user", "create", "mia", environment={"DET_USER": "admin", "DET_PASS": ""})
    mia = {"DET_USER": "mia", "DET_PASS": ""}
    program = "from determined.experimental import client; print('I am', client.whoami().username)"
    options = ["--config", "resources.slots=0"]
    text = cluster.run("command", "run", *options, "python", "-c", program, environment=mia)
    assert "I am mia" in text
    text = cluster.run("command", "run", *options, 'test -n "$DET_USER_TOKEN" && echo whole', environment=mia)
    assert "whole" in text
