"""Searches driven by a program of the user: it and the master are killed, and nothing is done twice."""

import json
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.error

import pytest
import yaml
from cluster import BINARY, wait_until
from sdk import popen_python, run_python

# Three trials of 20 batches; the best goes on to 40, then to 60.
PROGRAM = """
import json, pathlib, sys, time, uuid
from determined import searcher

class Halving(searcher.SearchMethod):
    def __init__(self):
        self.seen = {{}}
        self.asked = []
    def initial_operations(self, state):
        operations = []
        for i in range(3):
            id = uuid.UUID(int=i + 1)
            hparams = {{"global_batch_size": 8, "seconds_per_batch": {pace}}}
            operations += [searcher.Create(id, hparams), searcher.ValidateAfter(id, 20)]
        return operations
    def on_trial_created(self, state, request_id):
        return []
    def on_validation_completed(self, state, request_id, metric, train_length):
        assert (str(request_id), train_length) not in self.asked, "told twice"
        self.asked.append((str(request_id), train_length))
        if train_length == 60:
            return [searcher.Close(request_id)]
        if train_length == 40:
            return [searcher.ValidateAfter(request_id, 60)]
        self.seen[str(request_id)] = metric
        if len(self.seen) < 3:
            return []
        best = min(self.seen, key=self.seen.get)
        return [searcher.ValidateAfter(uuid.UUID(best), 40)] + [
            searcher.Close(uuid.UUID(id)) for id in self.seen if id != best]
    def on_trial_closed(self, state, request_id):
        return [searcher.Shutdown()] if len(state.trials_closed) == 3 else []
    def on_trial_exited_early(self, state, request_id, reason):
        return [searcher.Shutdown(failure=True)]
    def progress(self, state):
        return sum(state.trial_progress.values()) / 100
    def save_method_state(self, path):
        (path / "seen.json").write_text(json.dumps([self.seen, self.asked]))
    def load_method_state(self, path):
        self.seen, asked = json.loads((path / "seen.json").read_text())
        self.asked = [tuple(each) for each in asked]

runner = searcher.LocalSearchRunner(Halving(), searcher_dir="state")
print(runner.run("custom.yaml", "."))
"""


@pytest.fixture
def definition(noisy, tmp_path):
    folder = shutil.copytree(noisy, tmp_path / "definition")
    config = yaml.safe_load((folder / "const.yaml").read_text())
    config["searcher"] = {"name": "custom", "metric": "validation_loss", "smaller_is_better": True, "unit": "batches"}
    config.pop("min_validation_period", None)
    (folder / "custom.yaml").write_text(yaml.safe_dump(config))
    (folder / ".detignore").write_text("state/\n")
    return folder


def check(cluster, id):
    experiment = cluster.experiment(id)
    assert experiment["state"] == "STATE_COMPLETED" and experiment["progress"] == 1
    trials = sorted(cluster.get(f"experiments/{id}/trials")["trials"], key=lambda t: t["id"])
    assert sorted(t["totalBatchesProcessed"] for t in trials) == [20, 20, 60]
    assert {t["state"] for t in trials} == {"STATE_COMPLETED"}
    return [(t["totalBatchesProcessed"], cluster.metrics(t["id"], "validation")) for t in trials]


def test_a_method_of_the_users_decides_which_trial_goes_on(start, definition):
    cluster = start(options=["--slots", "2"])
    id = int(run_python(cluster, PROGRAM.format(pace=0.0), definition).split()[-1])
    check(cluster, id)
    assert run_python(cluster, PROGRAM.format(pace=0.0), definition).split()[-1] == str(id), "it is over"
    (last,) = cluster.get(f"experiments/{id}/searcher_events")["searcherEvents"]
    assert last["experimentInactive"] == {"experimentState": "STATE_COMPLETED"}


def test_runner_and_master_are_killed_and_the_search_is_the_same(start, definition):
    cluster = start(options=["--slots", "2"])
    program = PROGRAM.format(pace=0.02)
    for round in range(6):
        runner = popen_python(cluster, program, definition)
        time.sleep(0.4 + 0.45 * round)
        if round % 2:
            cluster.master.kill()
            cluster.start_master()
        runner.send_signal(signal.SIGKILL)
        runner.communicate()
    id = int(run_python(cluster, program, definition).split()[-1])
    disturbed = check(cluster, id)
    shutil.rmtree(definition / "state")
    again = int(run_python(cluster, program, definition).split()[-1])
    assert again != id
    assert check(cluster, again) == disturbed


def test_what_makes_no_sense_is_refused_in_words_and_as_a_whole(start, definition):
    cluster = start(options=["--slots", "1"])
    id = cluster.create(definition, config="custom.yaml")
    path = f"experiments/{id}"
    (first,) = cluster.get(f"{path}/searcher_events")["searcherEvents"]
    assert first["id"] == 1 and "initialOperations" in first

    def answer(event, *operations):
        body = {"searcherOperations": list(operations), "triggeredByEvent": {"id": event}}
        try:
            return cluster.get(f"{path}/searcher_operations", "POST", body)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["error"]["error"]

    trial = "00000000-0000-4000-8000-000000000001"
    hparams = json.dumps({"global_batch_size": 8, "seconds_per_batch": 0.0})
    create = {"createTrial": {"requestId": trial, "hyperparams": hparams}}
    train = {"trialOperation": {"validateAfter": {"requestId": trial, "length": "10"}}}
    assert answer(7, create) == (404, "event 7 not found")
    assert answer(1, train) == (400, f"trial {trial} not found; create it before its other operations")
    assert answer(1, create, {"createTrial": {"requestId": "../x", "hyperparams": "{}"}}) == (
        400,
        'request ID "../x" is invalid; it must be a UUID in lower case',
    )
    assert answer(1, create, train, {}) == (
        400,
        "operation 3 has 0 kinds; give exactly one of createTrial, trialOperation, closeTrial, shutDown and "
        "setSearcherProgress",
    )
    assert cluster.get(f"{path}/trials")["trials"] == [], "nothing of it was done"
    assert answer(1, create, train) == {}
    assert answer(1, create, train) == (404, "event 1 not found")
    wait_until(
        lambda: any("validationCompleted" in e for e in cluster.get(f"{path}/searcher_events")["searcherEvents"]),
        "a validation to decide about",
    )
    events = cluster.get(f"{path}/searcher_events")["searcherEvents"]
    assert answer(events[-1]["id"], train)[1].endswith("lengths are totals and must exceed the last one, 10")
    assert "searcher_events" not in cluster.run("experiment", "describe", id)
    assert answer(events[-1]["id"], {"shutDown": {}}) == {}
    cluster.wait_for_state(id, "COMPLETED")
    assert answer(events[-1]["id"], train)[1].startswith(f"experiment {id} is COMPLETED")


# One trial of 20 batches; when it is over, a second one begins with its weights and trains 10.
CHAIN = """
import uuid
from determined import searcher
from determined.experimental import Determined

class Chain(searcher.SearchMethod):
    def create(self, number, length, checkpoint=None):
        id = uuid.UUID(int=number)
        hparams = {"global_batch_size": 8, "seconds_per_batch": 0.03}
        return [searcher.Create(id, hparams, checkpoint), searcher.ValidateAfter(id, length)]
    def initial_operations(self, state):
        return self.create(1, 20)
    def on_trial_created(self, state, request_id):
        return []
    def on_validation_completed(self, state, request_id, metric, train_length):
        return [searcher.Close(request_id)]
    def on_trial_closed(self, state, request_id):
        if request_id == uuid.UUID(int=2):
            return [searcher.Shutdown()]
        (saved,) = Determined().get_experiment(state.experiment_id).list_checkpoints()
        return self.create(2, 10, saved)
    def on_trial_exited_early(self, state, request_id, reason):
        return [searcher.Shutdown(failure=True)]
    def progress(self, state):
        return len(state.trials_closed) / 2

print(searcher.LocalSearchRunner(Chain(), searcher_dir="state").run("custom.yaml", "."))
"""


def weights(cluster, trial):
    """Of the model after so many batches."""
    return {batches: m["validation_metrics"]["weights"] for batches, m in cluster.metrics(trial, "validation")}


def test_a_trial_begins_with_the_weights_of_a_named_checkpoint_which_stays(start, definition, tmp_path):
    cluster = start(options=["--slots", "1"])
    config = yaml.safe_load((definition / "custom.yaml").read_text()) | {"perform_initial_validation": True}
    (definition / "custom.yaml").write_text(yaml.safe_dump(config))
    runner = popen_python(cluster, CHAIN, definition)
    wait_until(lambda: cluster.get("experiments")["experiments"], "the experiment")
    wait_until(lambda: len(cluster.get("experiments/1/trials")["trials"]) == 2, "the second trial")
    (source,) = cluster.get("experiments/1/checkpoints")["checkpoints"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        cluster.get("checkpoints", "DELETE", {"checkpointUuids": [source["uuid"]]})
    assert "trial 2 of experiment 1 starts" in refused.value.read().decode()
    cluster.master.kill()
    cluster.start_master()
    text, _ = runner.communicate(timeout=90)
    assert text.split()[-1] == "1", text
    first, second = (weights(cluster, trial) for trial in (1, 2))
    assert second[0] == first[20] != first[0], "it begins with the weights that the other one ended with"
    assert second[10] not in first.values()
    assert cluster.get("trials/2")["trial"]["warmStartCheckpointUuid"] == source["uuid"]

    if not CXX.exists():
        return
    (tmp_path / "one.json").write_text('[{"global_batch_size": 8, "seconds_per_batch": 0.0}]')
    words = [CXX, "custom.yaml", ".", tmp_path / "one.json", "10", tmp_path / "cxx", source["uuid"]]
    done = subprocess.run(
        words, cwd=definition, env=cluster.environment | {"DET_MASTER": cluster.url}, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert weights(cluster, 3)[0] == first[20]


CXX = pathlib.Path(BINARY).parent / "det-search-example"


@pytest.mark.skipif(not CXX.exists(), reason="det-search-example was not built")
def test_a_runner_in_c_plus_plus_is_killed_with_the_master_and_the_search_is_the_same(start, definition, tmp_path):
    """Four candidates train 10 batches, the better two go on to 20, the best to 40."""
    cluster = start(options=["--slots", "2"])
    paces = [0.02, 0.021, 0.022, 0.023]
    candidates = tmp_path / "candidates.json"
    candidates.write_text(json.dumps([{"global_batch_size": 8, "seconds_per_batch": pace} for pace in paces]))

    def runner(state):
        words = [CXX, "custom.yaml", ".", candidates, "10", state]
        environment = cluster.environment | {"DET_MASTER": cluster.url}
        return subprocess.Popen(
            words, cwd=definition, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def finished(state):
        process = runner(state)
        text, _ = process.communicate(timeout=90)
        assert process.returncode == 0, text
        return int(text.split()[1])

    for round in range(6):
        process = runner(tmp_path / "killed")
        time.sleep(0.05 + 0.35 * round)
        if round % 2:
            cluster.master.kill()
            cluster.start_master()
        process.kill()
        process.communicate()
    id = finished(tmp_path / "killed")
    assert finished(tmp_path / "killed") == id, "it is over"
    assert len(cluster.get("experiments")["experiments"]) == 1, "it was submitted twice"
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    assert sorted(t["totalBatchesProcessed"] for t in trials) == [10, 10, 20, 40]
    assert {t["state"] for t in trials} == {"STATE_COMPLETED"}
    assert cluster.experiment(id)["progress"] == 1

    def results(wanted):
        """Of the trials that trained to ``wanted``: the losses of their validations."""
        chosen = [t["id"] for t in trials if t["totalBatchesProcessed"] == wanted]
        rows = [cluster.metrics(id, "validation") for id in chosen]
        return [{batches: m["validation_metrics"]["validation_loss"] for batches, m in row} for row in rows]

    (best,), (second,), losers = results(40), results(20), results(10)
    assert set(best) == {10, 20, 40} and set(second) == {10, 20}
    assert best[20] <= second[20], "the better one went on"
    assert max(best[10], second[10]) <= min(loser[10] for loser in losers)


@pytest.mark.skipif(not CXX.exists(), reason="det-search-example was not built")
def test_a_runner_in_c_plus_plus_says_what_is_wrong(start, definition, tmp_path):
    cluster = start(options=["--slots", "1"])
    (tmp_path / "none.json").write_text("[]")
    (tmp_path / "one.json").write_text('[{"global_batch_size": 8}]')

    def said(config, candidates):
        done = subprocess.run(
            [CXX, config, ".", tmp_path / candidates, "10", tmp_path / "state"],
            cwd=definition,
            env=cluster.environment | {"DET_MASTER": cluster.url},
            text=True,
            capture_output=True,
        )
        assert done.returncode == 1
        return done.stderr

    assert "has no list of hyperparameters" in said("custom.yaml", "none.json")
    assert "cannot read the configuration" in said("missing.yaml", "one.json")
    (definition / "bad.yaml").write_text("searcher: {name: custom}")
    assert "searcher" in said("bad.yaml", "one.json")
