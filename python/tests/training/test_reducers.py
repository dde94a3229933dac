"""How metrics of batches become those of a validation."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from harness import Run, train
from trials import ContextTrial

from determined.common.check import CheckFailedError
from determined.pytorch import MetricReducer, Reducer
from determined.pytorch._metric_reducer import interleave
from determined.pytorch._reducer import reduce_ranks


def validation(reducer: Any, per_batch: Any, storage: pathlib.Path) -> dict[str, Any]:
    class Reduced(ContextTrial):
        def evaluate_batch(self, batch: Any, batch_idx: int) -> Any:  # type: ignore[override]
            return {"val_loss": per_batch[batch_idx]}

        def evaluation_reducer(self) -> Any:
            return reducer

    return train(Reduced, storage, 1).numbers()[("validation", 1)]


@pytest.mark.parametrize(
    ("reducer", "expected"), [(Reducer.AVG, 2.0), (Reducer.SUM, 6.0), (Reducer.MAX, 4.0), (Reducer.MIN, 0.5)]
)
def test_each_reducer_on_numbers(reducer: Reducer, expected: float, tmp_path: pathlib.Path) -> None:
    assert validation(reducer, [1.5, 4.0, 0.5], tmp_path) == {"val_loss": expected}
    assert validation({"val_loss": reducer}, [1.5, torch.tensor(4.0), np.float64(0.5)], tmp_path) == {
        "val_loss": expected
    }


def test_arrays_are_reduced_over_all_elements(tmp_path: pathlib.Path) -> None:
    assert validation(Reducer.AVG, [np.array([1, 2]), torch.tensor([3, 4]), [5, 9]], tmp_path) == {"val_loss": 4.0}


@pytest.mark.parametrize("reducer", list(Reducer))
def test_text_in_a_validation_is_named_with_its_metric(reducer: Reducer, tmp_path: pathlib.Path) -> None:
    class Talking(ContextTrial):
        def evaluate_batch(self, batch: Any) -> Any:
            return {**super().evaluate_batch(batch), "verdict": "good"}

        def evaluation_reducer(self) -> Any:
            return reducer

    words = (
        rf"Got 'good' for the metric 'verdict', expected numbers, which Reducer.{reducer.name} makes one of: result of"
    )
    with pytest.raises(CheckFailedError, match=words):
        train(Talking, tmp_path, 1)


def test_ragged_values_have_no_reduction(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CheckFailedError, match=r"\[1\] for the metric 'val_loss', expected numbers, .*inhomogeneous"):
        validation(Reducer.AVG, [[1], [1, 2], [3]], tmp_path)


@pytest.mark.parametrize(
    ("reducer", "text"),
    [
        ({"other": Reducer.AVG}, "reducers for exactly the metrics"),
        ({"val_loss": Reducer.AVG, "more": Reducer.AVG}, "reducers for exactly the metrics"),
        ({"val_loss": "AVG"}, r"evaluation_reducer\(\)\['val_loss'\]"),
        ("AVG", "result of evaluation_reducer"),
    ],
)
def test_reducers_must_fit_the_metrics(reducer: Any, text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(CheckFailedError, match=text):
        validation(reducer, [1.0, 2.0, 3.0], tmp_path)


def test_ranks_count_by_their_batches_in_an_average() -> None:
    assert reduce_ranks(Reducer.AVG, [1.0, 4.0], [2, 1]) == 2.0
    assert [reduce_ranks(r, [1.0, 4.0], [2, 1]) for r in (Reducer.SUM, Reducer.MAX, Reducer.MIN)] == [5.0, 4.0, 1.0]
    assert [r.value for r in Reducer] == [1, 2, 3, 4]


class Largest(MetricReducer):
    def reset(self) -> None:
        self.largest = 0.0

    def update(self, value: float) -> None:
        self.largest = max(self.largest, value)

    def per_slot_reduce(self) -> Any:
        return self.largest

    def cross_slot_reduce(self, per_slot_metrics: Any) -> Any:
        return max(per_slot_metrics)


def test_reducers_of_the_users_own_go_into_averages_and_validations(tmp_path: pathlib.Path) -> None:
    class Own(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.largest = context.wrap_reducer(Largest(), "largest")
            self.all = context.experimental.wrap_reducer(lambda values: {"n": len(values), "sum": sum(values)})
            self.quiet = context.wrap_reducer(Largest(), "quiet", for_training=False)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            if batch_idx == 4:
                self.context.reset_reducers()  # forgets batch 3
            self.largest.update(float(batch_idx))
            self.all.update(batch_idx)
            return {}

        def evaluate_batch(self, batch: Any) -> Any:
            self.largest.update(2.5)
            self.all.update(1)
            return {}

    run = train(Own, tmp_path, 6, config={"scheduling_unit": 3, "searcher": {"metric": "largest"}})
    numbers = run.numbers()
    assert numbers[("training", 3)]["avg_metrics"] == {"largest": 2.0, "n": 3, "sum": 3}
    assert numbers[("training", 6)]["avg_metrics"] == {"largest": 5.0, "n": 2, "sum": 9}
    assert numbers[("training", 6)]["batch_metrics"] == [{}, {}, {}]
    assert numbers[("validation", 6)] == {"largest": 2.5, "n": 3, "sum": 3, "quiet": 0.0}


def test_values_of_several_slots_come_in_the_order_of_batches() -> None:
    assert interleave([[0, 3, 6], [1, 4], [2, 5]]) == [0, 1, 2, 3, 4, 5, 6]


def test_misuse_of_wrap_reducer_is_named(tmp_path: pathlib.Path) -> None:
    context: Any = Run(ContextTrial, tmp_path, lengths=[1]).context
    reducer = context.wrap_reducer(Largest(), "one")
    with pytest.raises(AssertionError, match="already wrapped"):
        context.wrap_reducer(reducer, "two")
    with pytest.raises(AssertionError, match="MetricReducer or a function"):
        context.wrap_reducer(3)


@pytest.mark.parametrize(
    ("reducer", "name", "error", "text"),
    [
        (lambda values: {"a": 1}, "named", AssertionError, "wrapped as 'named' and returned a dict"),
        (lambda values: 1.0, None, AssertionError, "without a name and returned a float"),
        (
            lambda values: 1 / 0,
            "broken",
            ValueError,
            r"FunctionReducer.cross_slot_reduce\(\) failed for metric 'broken'",
        ),
    ],
)
def test_a_reducer_that_fails_is_named(
    reducer: Any, name: Any, error: type[Exception], text: str, tmp_path: pathlib.Path
) -> None:
    class Failing(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.wrap_reducer(reducer, name)

    with pytest.raises(error, match=text):
        train(Failing, tmp_path, 1)
