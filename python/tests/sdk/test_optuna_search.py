"""Optuna as a search method, without a cluster: configurations are translated, and a pickled search goes on alike."""

import pytest

optuna = pytest.importorskip("optuna")

from determined.searcher import (  # noqa: E402
    Close,
    Create,
    ExitedReason,
    SearcherState,
    Shutdown,
    ValidateAfter,
)
from determined.searcher._optuna import OptunaSearch, draw, length_of  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)


def config(**searcher):
    usual = {
        "metric": "loss",
        "smaller_is_better": True,
        "max_length": {"batches": 100},
        "max_trials": 6,
        "max_concurrent_trials": 2,
        "sampler": "TPESampler",
        "pruner": "NopPruner",
    }
    return {
        "hyperparameters": {"x": {"type": "double", "minval": -1, "maxval": 1}},
        "reproducibility": {"experiment_seed": 3},
        "searcher": usual | searcher,
    }


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (5, {}),
        ({"type": "const", "val": [1]}, {}),
        ({"type": "int", "minval": 2, "maxval": 4}, {"a": (2, 4, False)}),
        ({"type": "double", "minval": 0, "maxval": 0.5}, {"a": (0, 0.5, False)}),
        ({"type": "log", "base": 10, "minval": -3, "maxval": -1}, {"a": (0.001, 0.1, True)}),
        ({"type": "log", "base": 0.5, "minval": 1, "maxval": 2}, {"a": (0.25, 0.5, True)}),
        ({"type": "categorical", "vals": ["p", None]}, {"a": ("p", None)}),
        ({"type": "categorical", "vals": [[1], {"b": 2}]}, {"a": (0, 1)}),
        ({"b": {"type": "int", "minval": 1, "maxval": 3}, "c": 1}, {"a.b": (1, 3, False)}),
    ],
)
def test_each_kind_of_hyperparameter_has_its_distribution(space, expected):
    trial = optuna.create_study().ask()
    drawn = draw({"a": space}, trial)
    assert list(drawn) == ["a"]

    def shown(distribution):
        if isinstance(distribution, optuna.distributions.CategoricalDistribution):
            return distribution.choices
        return (distribution.low, distribution.high, distribution.log)

    assert {name: shown(distribution) for name, distribution in trial.distributions.items()} == expected


def test_values_of_categories_may_be_of_any_kind():
    drawn = draw({"a": {"type": "categorical", "vals": [[1], [2]]}}, optuna.create_study().ask())
    assert drawn["a"] in ([1], [2])


def test_lengths_have_a_unit_or_none():
    assert length_of({"epochs": 3}) == 3
    assert length_of(7) == 7


CONDITIONS = {
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "when": {"optimizer.name": "sgd"}},
    "nesterov": {
        "type": "categorical",
        "vals": [True, False],
        "when": {"momentum_used": [True], "optimizer.name": "sgd"},
    },
    "momentum_used": {"type": "categorical", "vals": [True, False], "when": {"optimizer.name": "sgd"}},
    "optimizer": {
        "beta": {"type": "double", "minval": 0.8, "maxval": 1, "when": {"optimizer.name": ["adam", "adamw"]}},
        "name": {"type": "categorical", "vals": ["sgd", "adam", "adamw"]},
    },
}


def test_a_hyperparameter_exists_only_where_its_conditions_hold():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    seen = set()
    for _ in range(60):
        trial = study.ask()
        drawn = draw(CONDITIONS, trial)
        sgd = drawn["optimizer"]["name"] == "sgd"
        assert ("momentum" in drawn, "momentum_used" in drawn, "beta" in drawn["optimizer"]) == (sgd, sgd, not sgd)
        assert ("nesterov" in drawn) == drawn.get("momentum_used", False)
        assert set(trial.params) == {*drawn, *(f"optimizer.{name}" for name in drawn["optimizer"])} - {"optimizer"}
        seen.add((drawn["optimizer"]["name"], drawn.get("momentum_used"), drawn.get("nesterov")))
        study.tell(trial, 0)
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("given", "grouped"), [({}, True), ({"multivariate": False}, False), ({"n_startup_trials": 3}, True)]
)
def test_tpe_learns_in_groups_of_trials_with_the_same_hyperparameters(given, grouped):
    searcher = config(sampler_args=given)
    searcher["hyperparameters"] = CONDITIONS | {"x": {"type": "double", "minval": -1, "maxval": 1}}
    trials, _, end, method = run(OptunaSearch(searcher))
    assert len(trials) == 6 and end == Shutdown()
    assert method._study.sampler._group is grouped


def run(method, reload=None, fails=(), further=None):
    """Runs a search, one event after the other; ``reload`` replaces the method after each event."""
    state = SearcherState(experiment_id=1)
    events = [("initial_operations",)]
    trials, lengths = [], {}
    while events:
        name, *told = events.pop(0)
        operations = getattr(method, name)(state, *told)
        if reload:
            method = reload(method)
        for operation in operations:
            if isinstance(operation, Create):
                trials.append((operation.request_id, operation.hparams))
            elif isinstance(operation, ValidateAfter):
                number = [id for id, _ in trials].index(operation.request_id)
                lengths[operation.request_id] = operation.length
                if number in fails:
                    events.append(("on_trial_exited_early", operation.request_id, ExitedReason.ERRORED))
                    events.append(("on_trial_closed", operation.request_id))
                else:
                    metric = dict(trials)[operation.request_id]["x"] ** 2 + 1 / operation.length
                    events.append(("on_validation_completed", operation.request_id, metric, operation.length))
                    if further is not None:
                        state.validation_metrics = further(dict(trials)[operation.request_id]["x"])
            elif isinstance(operation, Close):
                events.append(("on_trial_closed", operation.request_id))
            else:
                return trials, [lengths[id] for id, _ in trials], operation, method
    raise AssertionError("the search did not end")


@pytest.mark.parametrize("sampler", ["TPESampler", "GPSampler", "CmaEsSampler", "NSGAIISampler", "QMCSampler"])
def test_a_search_that_is_stored_after_each_event_goes_on_alike(sampler, tmp_path):
    pytest.importorskip("scipy")
    pytest.importorskip("cmaes")
    if sampler == "GPSampler":
        pytest.importorskip("torch")
    fields = {"sampler": sampler, "pruner": "SuccessiveHalvingPruner", "max_trials": 15}

    def reload(method):
        method.save_method_state(tmp_path)
        fresh = OptunaSearch(config(**fields))
        fresh.load_method_state(tmp_path)
        return fresh

    straight = run(OptunaSearch(config(**fields)))
    assert run(OptunaSearch(config(**fields)), reload)[:3] == straight[:3]
    assert straight[2] == Shutdown()
    assert len(straight[0]) == 15


SEVERAL = [{"name": "size", "smaller_is_better": False}, {"name": "time", "smaller_is_better": True}]


@pytest.mark.parametrize("sampler", ["TPESampler", "NSGAIISampler", "NSGAIIISampler"])
def test_several_metrics_are_the_objectives_of_the_study(sampler):
    def further(x):
        return {"size": x, "time": "Infinity" if x > 0.9 else abs(x - 0.5), "other": 1}

    fields = {"sampler": sampler, "metrics": SEVERAL, "max_trials": 25, "max_concurrent_trials": 1}
    trials, _, end, method = run(OptunaSearch(config(**fields)), further=further)
    assert end == Shutdown()
    assert [direction.name for direction in method._study.directions] == ["MINIMIZE", "MAXIMIZE", "MINIMIZE"]
    for (_, hparams), trial in zip(trials, method._study.trials):  # noqa: B905 - Python 3.9
        x = hparams["x"]
        assert trial.values == [x**2 + 0.01, x, float("inf") if x > 0.9 else abs(x - 0.5)]


@pytest.mark.parametrize("reported", [{}, {"size": "large", "time": 1}, {"size": True, "time": 1}])
def test_a_validation_without_one_of_the_metrics_ends_the_search_with_its_name(reported):
    with pytest.raises(ValueError, match=r"searcher\.metrics has size, so each validation must report it as a number"):
        run(OptunaSearch(config(metrics=SEVERAL)), further=lambda x: reported)


def test_a_pruner_stops_trials_at_its_own_lengths():
    _, lengths, _, method = run(
        OptunaSearch(
            config(pruner="MedianPruner", pruner_args={"n_startup_trials": 1}, max_concurrent_trials=1, max_trials=12)
        )
    )
    assert set(lengths) - {100} and set(lengths) <= {10 * n for n in range(1, 11)}
    assert method.progress(SearcherState()) == 1


def test_without_a_pruner_all_trials_train_to_the_end():
    assert run(OptunaSearch(config()))[1] == [100] * 6


def test_failed_trials_count_and_only_failures_are_a_failure():
    assert run(OptunaSearch(config()), fails={0, 3})[2] == Shutdown()
    assert run(OptunaSearch(config()), fails=set(range(6)))[2].failure


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"sampler_args": {"startup": 1}}, "searcher.sampler_args has startup; TPESampler of Optuna has the arguments"),
        ({"pruner": "PercentilePruner"}, "searcher.pruner_args: PercentilePruner of Optuna cannot be made"),
        ({"sampler": "FutureSampler"}, "searcher.sampler is FutureSampler, which the installed version of Optuna"),
    ],
)
def test_what_optuna_does_not_accept_is_named(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        OptunaSearch(config(**fields))
