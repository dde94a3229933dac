"""Metrics on their way to the master, and what the searcher's metric must be."""

from __future__ import annotations

import datetime
import enum
import json
import math
import pathlib
import uuid
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from harness import train
from trials import ContextTrial, Points

from determined import _metrics
from determined.pytorch import DataLoader, PyTorchTrial


class Colour(enum.Enum):
    RED = 1


class Own:
    def __json__(self) -> Any:
        return {"own": 1}


def test_ranks_with_other_metrics_are_named_whatever_trains_them() -> None:
    words = (
        r"a batch has the training metrics \['acc'\] on rank 1 and \['loss'\] on rank 0; they must be the same on every"
    )
    with pytest.raises(ValueError, match=words):
        _metrics.mean_over_ranks([[{"loss": 1}], [{"acc": 1}]])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        (True, True),
        (np.bool_(True), True),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ([math.inf, 1.0], ["Infinity", 1.0]),
        (np.array([math.nan]), ["NaN"]),
        (np.float64("nan"), "NaN"),
        (np.float32("inf"), "Infinity"),
        (Colour.RED, "RED"),
        (datetime.datetime(2020, 1, 2), "2020-01-02T00:00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Own(), {"own": 1}),
        (None, None),
        ("text", "text"),
    ],
)
def test_values_and_their_json(value: Any, text: Any) -> None:
    assert json.loads(_metrics.to_json({"m": value})) == {"m": text}
    assert json.loads(_metrics.to_json({"m": value, "n": math.nan})) == {"m": text, "n": "NaN"}


def test_a_value_that_json_cannot_represent_is_named() -> None:
    for metrics, message in (
        ({"m": object()}, r"metrics\['m'\] is a value of the type object, which JSON cannot represent"),
        ({"m": math.nan, "n": [1, {"z": 1j}]}, r"metrics\['n'\]\[1\]\['z'\] is a value of the type complex"),
        ({"m": {(1, 2): 3}}, r"metrics\['m'\] has the key \(1, 2\); keys must be strings"),
    ):
        with pytest.raises(TypeError, match=message):
            _metrics.to_json(metrics)


@pytest.mark.parametrize(
    ("values", "average"),
    [
        ([1.0, 2.0, 6.0], 3.0),
        ([1, None, 2], 1.5),
        ([None, None], None),
        ([np.array([1.0, 3.0]), np.array([5.0, 7.0])], 4.0),
        ([np.array([1.0]), np.array([1.0, 2.0])], None),
        (["a", "b"], None),
        ([np.float32(1), 2.0], 1.5),
        ([math.inf, 1.0], math.inf),
    ],
)
def test_averages_weigh_every_batch_the_same(values: list[Any], average: Any) -> None:
    assert _metrics.averages([{"m": value} for value in values]) == {"m": average}


def trial(metrics: dict[str, Any]) -> type:
    return type("Fixed", (ContextTrial,), {"evaluate_batch": lambda self, batch: metrics})


@pytest.mark.parametrize(
    ("metrics", "error", "text"),
    [
        ({"a": 1.0, "b": 2.0}, ValueError, "'val_loss', which is not among the validation metrics: a, b"),
        ({"val_loss": math.nan}, ValueError, "'val_loss' is nan after batch 1; the searcher needs a number"),
    ],
)
def test_the_searchers_metric_must_be_there_and_a_number(
    metrics: dict[str, Any], error: type[Exception], text: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(error, match=text):
        train(trial(metrics), tmp_path, 1)


@pytest.mark.parametrize("value", [[1.0, 2.0], np.array([1.0, 2.0]), "text", {"a": 1}])
def test_the_searchers_metric_must_be_one_number(value: Any) -> None:
    with pytest.raises(ValueError, match="the searcher needs a number"):
        _metrics.searcher_value("m", {"m": value})
    assert _metrics.searcher_value("m", {"m": np.array(2.0)}) == 2.0


def test_a_validation_metric_of_none_is_an_error_and_bytes_are_dropped() -> None:
    warnings: list[Any] = []
    with pytest.raises(ValueError, match="no value for these validation metrics: b"):
        _metrics.check_validation({"a": 1, "b": None}, print)
    assert _metrics.check_validation({"a": 1, "b": b"x"}, lambda *args: warnings.append(args)) == {"a": 1}
    assert warnings


def test_nan_in_other_metrics_is_reported(tmp_path: pathlib.Path) -> None:
    run = train(trial({"val_loss": 1.0, "other": math.nan}), tmp_path, 1)
    assert run.numbers()[("validation", 1)] == {"val_loss": 1.0, "other": "NaN"}


def test_batch_metrics_keep_their_shape(tmp_path: pathlib.Path) -> None:
    class Shapes(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            return {"scalar": torch.tensor(0.1), "vector": torch.tensor([1.0, 3.0]), "half": torch.tensor(1).bfloat16()}

    reported = train(Shapes, tmp_path, 2).numbers()[("training", 2)]
    assert reported["batch_metrics"] == [{"scalar": pytest.approx(0.1), "vector": [1.0, 3.0], "half": 1.0}] * 2
    assert reported["avg_metrics"] == {"scalar": pytest.approx(0.1), "vector": 2.0, "half": 1.0}


def test_records_are_counted_for_every_report(tmp_path: pathlib.Path) -> None:
    class Short(ContextTrial):
        def build_training_data_loader(self) -> Any:
            return DataLoader(Points(10), batch_size=4)

        def build_validation_data_loader(self) -> Any:
            return DataLoader(Points(11), batch_size=4)

    run = train(Short, tmp_path, 5, config={"scheduling_unit": 3})
    assert run.client.records == {("training", 3): 10, ("training", 5): 8, ("validation", 5): 11}


def test_records_of_a_whole_validation_set_are_known_from_its_loader(tmp_path: pathlib.Path) -> None:
    class Whole(ContextTrial):
        evaluate_batch = PyTorchTrial.evaluate_batch
        options: ClassVar[dict[str, Any]] = {"batch_size": 4}

        def build_validation_data_loader(self) -> Any:
            return DataLoader(Points(11), **self.options)

        def evaluate_full_dataset(self, data_loader: Any) -> Any:
            return {"val_loss": 1.0}

    even = torch.utils.data.SubsetRandomSampler(range(0, 11, 2))
    batches = torch.utils.data.BatchSampler(even, 5, drop_last=False)
    for options, records in (
        ({"batch_size": 4}, 11),
        ({"batch_size": 4, "drop_last": True}, 8),
        ({"batch_size": 4, "sampler": even}, 6),
        ({"batch_sampler": batches}, 6),
        ({"batch_sampler": [[0, 1], [2]]}, 0),
    ):
        Whole.options = options
        assert train(Whole, tmp_path, 1).client.records["validation", 1] == records, options


def test_a_trial_may_count_records_itself(tmp_path: pathlib.Path) -> None:
    class Pairs(ContextTrial):
        seen: ClassVar[list[Any]] = []

        def get_batch_length(self, batch: Any) -> int:
            self.seen.append(type(batch))
            return np.int64(2 * len(batch[0]))  # type: ignore[return-value]

    run = train(Pairs, tmp_path, 2)
    assert run.client.records == {("training", 2): 16, ("validation", 2): 24}
    assert len(Pairs.seen) == 5


def test_a_batch_without_a_number_of_records_says_what_to_do(tmp_path: pathlib.Path) -> None:
    class Single(ContextTrial):
        def build_training_data_loader(self) -> Any:
            return DataLoader(Points(8), batch_size=4, collate_fn=lambda records: len(records))

    with pytest.raises(TypeError, match=r"the batch holds a value of the type int .*; override get_batch_length\(\)"):
        train(Single, tmp_path, 1)


@pytest.mark.parametrize("zeros", [torch.zeros, np.zeros])
def test_a_value_that_the_trial_changes_later_is_reported_as_it_was(zeros: Any, tmp_path: pathlib.Path) -> None:
    class Running(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.total = zeros(2)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            self.total += 1
            return {"total": self.total}

    reported = train(Running, tmp_path, 2).numbers()[("training", 2)]
    assert reported["batch_metrics"] == [{"total": [1.0, 1.0]}, {"total": [2.0, 2.0]}]
