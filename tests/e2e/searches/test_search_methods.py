"""Search methods that the platform runs: Optuna, and classes of the user. The user submits a configuration only."""

import json

import pytest
import yaml
from browser import walk
from cluster import kill_process, wait_until

TRAIN = """
import determined as det

hparams = det.get_cluster_info().trial.hparams
with det.core.init() as context:
    for operation in context.searcher.operations():
        loss = (hparams["rate"] - 0.3) ** 2 + abs(hparams["layers"] - 3) / 10 + 1 / operation.length
        context.train.report_validation_metrics(operation.length, {"loss": loss, "speed": 4 - hparams["layers"]})
        operation.report_completed(loss)
"""

HYPERPARAMETERS = {
    "rate": {"type": "double", "minval": 0, "maxval": 1},
    "layers": {"type": "int", "minval": 1, "maxval": 4},
    "decay": {"type": "log", "base": 10, "minval": -4, "maxval": -2},
    "optimizer": {"name": {"type": "categorical", "vals": ["sgd", "adam"]}, "nesterov": True},
    "width": {"type": "const", "val": 8},
}

OPTUNA = {
    "name": "optuna",
    "metric": "loss",
    "max_trials": 8,
    "max_concurrent_trials": 1,
    "max_length": {"batches": 4},
    "sampler_args": {"n_startup_trials": 3},
    "pruner": "MedianPruner",
    "pruner_args": {"n_startup_trials": 2},
    "prune_every": 2,
}

OWN = """
import random, uuid
from determined.searcher import Close, Create, SearchMethod, Shutdown, ValidateAfter

class Climb(SearchMethod):
    def __init__(self, steps):
        self.steps, self.best, self.rates, self.random = steps, (float("inf"), 0.9), {}, random.Random(1)

    def next(self):
        id = uuid.uuid4()
        self.rates[id] = self.best[1] + self.random.gauss(0, 0.2)
        return [Create(id, {"rate": self.rates[id], "layers": 3}), ValidateAfter(id, 2)]

    def initial_operations(self, state):
        return self.next()

    def on_validation_completed(self, state, request_id, metric, train_length):
        self.best = min(self.best, (metric, self.rates[request_id]))
        return [Close(request_id)]

    def on_trial_closed(self, state, request_id):
        return self.next() if len(self.rates) < self.steps else [Shutdown()]
"""


@pytest.fixture
def submit(tmp_path):
    """Submits an experiment with this searcher; returns its ID."""

    def submit(cluster, searcher, code=0, **fields):
        config = {
            "name": "rates",
            "entrypoint": "python3 train.py",
            "hyperparameters": HYPERPARAMETERS,
            "searcher": searcher,
            "max_restarts": 5,
            "reproducibility": {"experiment_seed": 7},
        }
        definition = tmp_path / "definition"
        definition.mkdir(exist_ok=True)
        (definition / "train.py").write_text(TRAIN)
        (definition / "climb.py").write_text(OWN)
        (definition / "search.yaml").write_text(yaml.safe_dump(config | fields))
        if code:
            return cluster.run("experiment", "create", definition / "search.yaml", definition, code=code)
        return cluster.create(definition, config="search.yaml")

    return submit


def outcome(cluster, id):
    """Hyperparameters, length and result of each trial, in the order of their creation."""
    cluster.wait_for_state(id, "COMPLETED", seconds=240)
    trials = sorted(cluster.get(f"experiments/{id}/trials")["trials"], key=lambda trial: trial["id"])
    return [(trial["hparams"], trial["totalBatchesProcessed"], trial["bestValidation"]["metrics"]) for trial in trials]


def runner_of(cluster, id):
    """The experiment that runs the search method."""
    (runner,) = (e for e in cluster.get("experiments")["experiments"] if e.get("forkedFrom") == id)
    return runner


def kill_runner(cluster, runner_id):
    def pids():
        own = cluster.shims(f"{cluster.trial_of(runner_id)['taskId']}.*")
        return [shim["taskPid"] for shim in own if shim["taskPid"] > 1]

    (pid,) = wait_until(pids, "the process of the search method")
    kill_process(pid)
    wait_until(lambda: pid not in pids(), "its end")


def trials_reach(cluster, id, number):
    def reached():
        return len(cluster.get(f"experiments/{id}/trials")["trials"]) >= number

    wait_until(reached, f"trial number {number}", 120)


def disturbed(cluster, id):
    """Kills the search method, the master and the agent during the search."""
    runner = runner_of(cluster, id)["id"]
    for number in (2, 4):
        trials_reach(cluster, id, number)
        kill_runner(cluster, runner)
    trials_reach(cluster, id, 5)
    cluster.master.kill()
    cluster.start_master()
    trials_reach(cluster, id, 6)
    cluster.agent.kill()
    cluster.start_agent()
    return outcome(cluster, id)


def test_optuna_searches_and_kills_change_none_of_its_suggestions(start, submit):
    pytest.importorskip("optuna")
    cluster = start(apart=True)
    id = submit(cluster, OPTUNA)
    trials = outcome(cluster, id)
    assert len(trials) == 8
    assert {length for _, length, _ in trials} == {2, 4}, "some were pruned, some were not"
    for hparams, _, _ in trials:
        assert 0 <= hparams["rate"] <= 1
        assert hparams["layers"] in (1, 2, 3, 4)
        assert 1e-4 <= hparams["decay"] <= 1e-2
        assert hparams["optimizer"]["name"] in ("sgd", "adam")
        assert hparams["optimizer"]["nesterov"] is True
        assert hparams["width"] == 8
    assert cluster.experiment(id)["progress"] == 1
    runner = runner_of(cluster, id)
    assert runner["name"] == "search of rates"
    cluster.wait_for_state(runner["id"], "COMPLETED")
    assert disturbed(cluster, submit(cluster, OPTUNA)) == trials


def test_optuna_optimizes_two_metrics_over_hyperparameters_with_conditions(start, submit, tmp_path):
    pytest.importorskip("optuna")
    cluster = start(apart=True)
    searcher = OPTUNA | {"max_trials": 12, "sampler": "NSGAIISampler", "sampler_args": {"population_size": 4}}
    for field in ("pruner", "pruner_args", "prune_every"):
        del searcher[field]
    searcher["metrics"] = [{"name": "speed", "smaller_is_better": False}]
    conditions = {
        "momentum": {"type": "double", "minval": 0, "maxval": 1, "when": {"optimizer.name": "sgd"}},
        "beta": {"type": "double", "minval": 0, "maxval": 1, "when": {"optimizer.name": "adam"}},
    }
    id = submit(cluster, searcher, hyperparameters=HYPERPARAMETERS | conditions)
    trials = outcome(cluster, id)
    assert len(trials) == 12
    names = {hparams["optimizer"]["name"] for hparams, _, _ in trials}
    assert names == {"sgd", "adam"}
    for hparams, _, _ in trials:
        sgd = hparams["optimizer"]["name"] == "sgd"
        assert ("momentum" in hparams, "beta" in hparams) == (sgd, not sgd)

    reported = [(metrics["avgMetrics"]["loss"], metrics["avgMetrics"]["speed"]) for _, _, metrics in trials]
    best = {a for a in reported if not any(b != a and b[0] <= a[0] and b[1] >= a[1] for b in reported)}
    front = json.loads(cluster.run("experiment", "pareto", id, "--json"))
    assert front["metrics"] == ["loss:min", "speed:max"]
    assert {tuple(point["values"]) for point in front["front"]} == best
    assert int(front["validations"]) == 12
    facts = {
        "experiment": id,
        "validations": 12,
        "metrics": ["loss", "speed"],
        "front": [[point["trialId"], *point["values"]] for point in front["front"]],
    }
    walk(cluster, facts, tmp_path, DET_PARTS="pareto")


def test_a_metric_that_is_missing_ends_the_search_with_its_name(start, submit):
    pytest.importorskip("optuna")
    cluster = start(apart=True)
    searcher = {"name": "optuna", "metric": "loss", "max_trials": 2, "max_length": {"batches": 2}}
    id = submit(cluster, searcher | {"metrics": [{"name": "size"}]})
    cluster.wait_for_state(id, "ERROR")
    assert "searcher.metrics has size" in cluster.run("experiment", "describe", id)


def test_a_class_of_the_user_searches_and_is_resumed(start, submit):
    cluster = start(apart=True)
    own = {"name": "custom", "metric": "loss", "class": "climb:Climb", "args": {"steps": 7}, "unit": "batches"}
    trials = outcome(cluster, submit(cluster, own))
    assert len(trials) == 7
    assert disturbed(cluster, submit(cluster, own)) == trials


def test_what_cannot_work_is_refused_or_ends_the_experiment_with_the_reason(start, submit):
    cluster = start(apart=True)
    refused = submit(cluster, OPTUNA | {"sampler": "TPESample"}, code=1)
    assert "TPESampler" in refused
    assert "must have the form module:Class" in submit(
        cluster, {"name": "custom", "metric": "loss", "class": "climb"}, code=1
    )

    def error(searcher):
        id = submit(cluster, searcher)
        cluster.wait_for_state(id, "ERROR")
        return cluster.run("experiment", "describe", id)

    assert "cannot be imported: No module named 'absent'" in error(
        {"name": "custom", "metric": "loss", "class": "absent:Method"}
    )
    assert "cannot be made from searcher.args" in error({"name": "custom", "metric": "loss", "class": "climb:Climb"})
    pytest.importorskip("optuna")
    assert "searcher.sampler_args has startup" in error(OPTUNA | {"sampler_args": {"startup": 3}})
    assert "ThresholdPruner of Optuna cannot be made" in error(
        OPTUNA | {"pruner": "ThresholdPruner", "pruner_args": {}}
    )
