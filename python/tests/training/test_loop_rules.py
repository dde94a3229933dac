"""The rules of the loop: the table, once for the written-down rules and once for the C++ ones."""

from __future__ import annotations

import itertools
import json
import math
import pathlib
from types import ModuleType
from typing import Any

import loop_oracle
import pytest

try:
    from determined import _runtime
except ImportError:  # the tree was built without the C++ module
    _runtime = None  # type: ignore[assignment]

TABLE = json.loads((pathlib.Path(__file__).parents[1] / "loop_table.json").read_text())
RULES = [pytest.param(loop_oracle, id="written down")]
if _runtime is not None:
    RULES.append(pytest.param(_runtime, id="runtime"))


def decide(rules: ModuleType, case: dict[str, Any]) -> dict[str, Any]:
    defaults = TABLE["defaults"]
    config = rules.LoopConfig(**{**defaults["config"], **case.get("config", {})})
    state = rules.LoopState(**{**defaults["state"], **case.get("state", {})})
    rest = [case.get(key, defaults[key]) for key in ("lengths", "closed", "preempt", "stop_requested")]
    action = rules.next_action(config, state, *rest)
    return {key: getattr(action, key) for key in ("kind", "batches", "reason", "length", "preempted")}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_next_action_follows_the_written_table(rules: ModuleType, case: dict[str, Any]) -> None:
    expected = {"batches": 0, "reason": "", "length": 0, "preempted": False, **case["then"]}
    assert decide(rules, case) == expected


@pytest.mark.skipif(_runtime is None, reason="needs the C++ module")
def test_the_runtime_decides_as_the_written_down_rules_everywhere() -> None:
    marks = (-1, 0, 4, 6, 8)
    for trained, validated, saved, done in itertools.product((0, 4, 5, 6, 8), marks, marks, (0, 1, 2)):
        for policy, period, best, flags in itertools.product(
            ("best", "all", "none"), ((0, 0), (2, 3), (4, 0)), (False, True), range(8)
        ):
            case = {
                "config": {
                    "scheduling_unit": 3,
                    "min_validation_period": period[0],
                    "min_checkpoint_period": period[1],
                    "checkpoint_policy": policy,
                    "perform_initial_validation": best,
                },
                "state": {
                    "batches_trained": trained,
                    "batches_validated": validated,
                    "batches_checkpointed": saved,
                    "operations_done": done,
                    "validation_is_best": best,
                },
                "lengths": [5, 8],
                "closed": bool(flags & 1),
                "preempt": bool(flags & 2),
                "stop_requested": bool(flags & 4),
            }
            assert decide(_runtime, case) == decide(loop_oracle, case), case


@pytest.mark.skipif(_runtime is None, reason="needs the C++ module")
def test_the_runtime_finds_the_same_validations_best_as_the_written_down_rules() -> None:
    values = (0.5, 0.4, math.nan, math.inf, -math.inf)
    for smaller, known in itertools.product((True, False), (None, 0.45, 0.5, math.nan)):
        for series in itertools.product(values, repeat=3):
            runtime, oracle = _runtime.LoopState(batches_trained=3), loop_oracle.LoopState(batches_trained=3)
            for value in series:
                runtime.validate(value, smaller, known)
                oracle.validate(value, smaller, known)
                assert runtime.to_dict() == oracle.to_dict(), (series, smaller, known)


@pytest.mark.parametrize("rules", RULES)
def test_ties_are_best_and_nan_never_is(rules: ModuleType) -> None:
    state = rules.LoopState()
    state.validate(math.nan, True)
    assert not state.validation_is_best and state.best is None
    state.validate(0.5, True, 0.5)
    assert state.validation_is_best and state.best == 0.5
    state.validate(0.5, True, 0.4)
    assert not state.validation_is_best


@pytest.mark.parametrize("rules", RULES)
def test_a_state_survives_the_way_into_a_checkpoint_and_back(rules: ModuleType) -> None:
    state = rules.LoopState(batches_trained=7, batches_validated=5, best=0.1, validation_is_best=True)
    copy = rules.LoopState.from_dict(json.loads(json.dumps(state.to_dict())))
    assert copy.to_dict() == state.to_dict()
