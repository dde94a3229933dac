"""Optuna decides: its sampler chooses hyperparameters, its pruner stops trials."""

from __future__ import annotations

import inspect
import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from determined.searcher._method import (
    Close,
    Create,
    ExitedReason,
    Operation,
    SearcherState,
    SearchMethod,
    Shutdown,
    ValidateAfter,
)

_RANGES = ("const", "int", "double", "log", "categorical")


class OptunaSearch(SearchMethod):
    """The searcher ``optuna`` of a configuration: an Optuna study in the form of a search method.

    Everything is in the study and its trials. They are pickled as a whole, with the random states of the sampler: a
    search that is resumed asks the same study and gets the suggestions that it would have had.

    Raises:
        ValueError: Optuna cannot be used as configured; the message says why.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        try:
            import optuna
        except ImportError as error:
            raise ValueError(
                f"searcher.name is optuna, but Optuna cannot be imported ({error}); add it to the environment of the "
                "trials, for example with `pip install optuna` in startup-hook.sh"
            ) from None
        searcher = config["searcher"]
        self._space: Mapping[str, Any] = config.get("hyperparameters") or {}
        seed = int((config.get("reproducibility") or {}).get("experiment_seed") or 0)
        usual: dict[str, Any] = {"seed": seed}
        conditional = any(isinstance(what, Mapping) and what.get("when") for _, what in _leaves(self._space))
        given = searcher.get("sampler_args") or {}
        if searcher["sampler"] == "TPESampler" and conditional and not given.keys() & {"multivariate", "group"}:
            # Trials with the same hyperparameters learn from each other; otherwise each hyperparameter is on its own.
            usual |= {"multivariate": True, "group": True}
        sampler = _made("sampler", getattr(optuna.samplers, searcher["sampler"], None), searcher, usual)
        pruner = _made("pruner", getattr(optuna.pruners, searcher["pruner"], None), searcher, {})
        objectives = [{"name": searcher["metric"], "smaller_is_better": searcher["smaller_is_better"]}]
        objectives += searcher.get("metrics") or []
        self._metrics = [objective["name"] for objective in objectives]
        directions = [_direction(optuna, one.get("smaller_is_better", True)) for one in objectives]
        self._study = optuna.create_study(sampler=sampler, pruner=pruner, directions=directions, study_name="search")
        self._length = length_of(searcher["max_length"])
        self._period = self._length
        if searcher["pruner"] != "NopPruner":
            self._period = min(int(searcher.get("prune_every") or math.ceil(self._length / 10)), self._length)
        self._max_trials = int(searcher["max_trials"])
        self._at_once = int(searcher["max_concurrent_trials"]) or self._max_trials
        self._trials: dict[uuid.UUID, Any] = {}  # that Optuna awaits the results of
        self._failures = 0
        self._closed = 0

    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]:
        return [
            operation for _ in range(min(self._at_once, self._max_trials)) for operation in self._next(searcher_state)
        ]

    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Operation]:
        from optuna.trial import TrialState

        trial = self._trials.get(request_id)
        if trial is None:
            return []
        if train_length < self._length:
            trial.report(metric, math.ceil(train_length / self._period))
            if not trial.should_prune():
                return [ValidateAfter(request_id, min(train_length + self._period, self._length))]
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            values = [metric, *(self._further(name, searcher_state) for name in self._metrics[1:])]
            if any(map(math.isnan, values)):
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, values)
        del self._trials[request_id]
        return [Close(request_id)]

    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]:
        from optuna.trial import TrialState

        trial = self._trials.pop(request_id, None)
        if trial is not None:
            self._study.tell(trial, state=TrialState.FAIL)
            self._failures += 1
        return []

    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]:
        self._closed += 1
        if len(self._study.trials) < self._max_trials:
            return self._next(searcher_state)
        if self._closed < self._max_trials:
            return []
        if self._failures == self._max_trials:
            return [Shutdown(failure=True, reason="every trial of the experiment failed")]
        return [Shutdown()]

    def progress(self, searcher_state: SearcherState) -> float:
        return self._closed / self._max_trials

    def _further(self, name: str, state: SearcherState) -> float:
        value = state.validation_metrics.get(name)
        if value in ("NaN", "Infinity", "-Infinity"):  # as the master writes them
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            found = "none" if value is None else repr(value)
            raise ValueError(
                f"searcher.metrics has {name}, so each validation must report it as a number; one reported {found}, "
                f"and the metrics {', '.join(sorted(state.validation_metrics))}"
            )
        return float(value)

    def _next(self, state: SearcherState) -> list[Operation]:
        """Creates the next trial, under a name that depends only on its number."""
        trial = self._study.ask()
        request_id = uuid.uuid5(uuid.NAMESPACE_OID, f"trial {trial.number} of experiment {state.experiment_id}")
        self._trials[request_id] = trial
        return [Create(request_id, draw(self._space, trial)), ValidateAfter(request_id, self._period)]


def draw(space: Mapping[str, Any], trial: Any) -> dict[str, Any]:
    """Returns the hyperparameters that Optuna suggests; nested ones are called ``a.b`` there.

    Those whose ``when`` does not hold are left out.
    """
    leaves = dict(_leaves(space))
    drawn: dict[str, Any] = {}  # of the leaves: values, and _ABSENT

    def value_of(name: str) -> Any:
        if name not in drawn:
            what = leaves[name]
            drawn[name] = _draw_one(what, trial, name) if _holds(what, value_of) else _ABSENT
        return drawn[name]

    return _nested(space, "", value_of)


_ABSENT = object()


def _leaves(space: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in sorted(space):
        if _is_section(space[name]):
            yield from _leaves(space[name], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", space[name]


def _is_section(what: Any) -> bool:
    return isinstance(what, Mapping) and what.get("type") not in _RANGES


def _holds(what: Any, value_of: Callable[[str], Any]) -> bool:
    conditions = (what.get("when") if isinstance(what, Mapping) else None) or {}
    return all(
        value_of(name) in (wanted if isinstance(wanted, list) else [wanted])
        for name, wanted in sorted(conditions.items())
    )


def _nested(space: Mapping[str, Any], prefix: str, value_of: Callable[[str], Any]) -> dict[str, Any]:
    found = {}
    for name in sorted(space):
        if _is_section(space[name]):
            found[name] = _nested(space[name], f"{prefix}{name}.", value_of)
        elif (value := value_of(f"{prefix}{name}")) is not _ABSENT:
            found[name] = value
    return found


def _draw_one(what: Any, trial: Any, name: str) -> Any:
    if not isinstance(what, Mapping):
        return what
    kind = what["type"]
    if kind == "const":
        return what["val"]
    if kind == "categorical":
        values = what["vals"]
        if all(value is None or isinstance(value, (bool, int, float, str)) for value in values):
            return trial.suggest_categorical(name, values)
        return values[trial.suggest_categorical(name, list(range(len(values))))]
    low, high = what["minval"], what["maxval"]
    if kind == "int":
        return trial.suggest_int(name, low, high)
    if kind == "double":
        return trial.suggest_float(name, low, high)
    base = float(what["base"])
    low, high = sorted((base**low, base**high))
    return trial.suggest_float(name, low, high, log=True)


def _direction(optuna: Any, smaller_is_better: bool) -> Any:
    directions = optuna.study.StudyDirection
    return directions.MINIMIZE if smaller_is_better else directions.MAXIMIZE


def length_of(configured: Any) -> int:
    """Returns the number of a length: ``100`` or ``{batches: 100}``."""
    return int(next(iter(configured.values())) if isinstance(configured, Mapping) else configured)


def _made(role: str, kind: Any, searcher: Mapping[str, Any], usual: Mapping[str, Any]) -> Any:
    """Returns Optuna's sampler or pruner with the configured arguments; ``usual`` are those that can be left out."""
    name = searcher[role]
    if kind is None:
        raise ValueError(f"searcher.{role} is {name}, which the installed version of Optuna does not have")
    arguments = {**usual, **(searcher.get(f"{role}_args") or {})}
    known = inspect.signature(kind).parameters
    if unknown := sorted(set(arguments) - set(known)):
        raise ValueError(
            f"searcher.{role}_args has {', '.join(unknown)}; {name} of Optuna has the arguments {', '.join(known)}"
        )
    try:
        return kind(**arguments)
    except Exception as error:
        raise ValueError(f"searcher.{role}_args: {name} of Optuna cannot be made from {arguments}: {error}") from error
