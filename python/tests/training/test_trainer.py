"""pytorch.Trainer outside the cluster."""

from __future__ import annotations

import contextlib
import json
import logging
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from determined import pytorch

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)


class LineTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        torch.manual_seed(1)
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))  # type: ignore[no-untyped-call]

    def data(self) -> pytorch.DataLoader:
        x = torch.linspace(-1, 1, 40).unsqueeze(1)
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), batch_size=4)

    build_training_data_loader = data
    build_validation_data_loader = data

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> dict[str, Any]:
        return {"loss": torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])}


@pytest.fixture
def place(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "determined" / "checkpoints"


def fit(**options: Any) -> LineTrial:
    with pytorch.init() as context:
        trial = LineTrial(context)
        pytorch.Trainer(trial, context).fit(**options)
    return trial


def batches(place: pathlib.Path) -> dict[int, pathlib.Path]:
    return {json.loads((path / "metadata.json").read_text())["steps_completed"]: path for path in place.iterdir()}


def said(caplog: pytest.LogCaptureFixture, word: str) -> list[int]:
    messages = [record.message for record in caplog.records if record.message.startswith(f"{word} after batch")]
    return [int(message.split()[3].rstrip(":")) for message in messages]


def test_it_trains_reports_validates_and_saves(place: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    fit(
        max_length=pytorch.Epoch(2),  # of ten batches
        reporting_period=pytorch.Batch(5),
        validation_period=pytorch.Epoch(1),
        checkpoint_period=pytorch.Batch(8),
        step_zero_validation=True,
    )
    assert said(caplog, "training") == [5, 8, 10, 15, 16, 20]
    assert said(caplog, "validation") == [0, 10, 20]
    assert sorted(batches(place)) == [8, 10, 16, 20], "off the cluster every validation is saved, too"


def test_a_period_may_be_a_container_of_moments(place: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    periods: dict[str, Any] = {
        "reporting_period": pytorch.Batch([4, 9]),
        "validation_period": pytorch.Epoch({2, 3}),  # of ten batches
        "checkpoint_period": pytorch.Batch({0, *range(7, 100, 19)}),  # 0 never comes
    }
    fit(max_length=pytorch.Batch(31), checkpoint_policy="none", **periods)
    assert said(caplog, "training") == [4, 7, 9, 20, 26, 30, 31]
    assert said(caplog, "validation") == [20, 30, 31]
    assert sorted(batches(place)) == [7, 26, 31]
    caplog.clear()
    fit(max_length=pytorch.Batch(31), checkpoint_policy="none", latest_checkpoint=str(batches(place)[26]), **periods)
    assert said(caplog, "training") == [30, 31], "what was done is not done again"


def test_it_goes_on_from_a_checkpoint_with_the_same_numbers(place: pathlib.Path) -> None:
    whole = fit(max_length=pytorch.Batch(20))
    fit(max_length=pytorch.Batch(13))
    resumed = fit(max_length=pytorch.Batch(20), latest_checkpoint=str(batches(place)[13]))
    for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_its_checkpoint_can_be_loaded(place: pathlib.Path) -> None:
    trained = fit(max_length=pytorch.Batch(3))
    loaded = pytorch.load_trial_from_checkpoint_path(str(batches(place)[3]), trial_class=LineTrial)
    assert torch.equal(loaded.model.weight, trained.model.weight)  # type: ignore[attr-defined]


def test_the_test_mode_trains_one_batch(place: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    fit(test_mode=True)
    assert said(caplog, "training") == [1]
    assert said(caplog, "validation") == [1]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ValueError, "max_length is missing"),
        ({"max_length": 100}, TypeError, r"use pytorch.Batch\(100\)"),
        ({"max_length": pytorch.Batch([1, 2])}, TypeError, "must be a single whole number"),
        ({"max_length": pytorch.Batch(1), "checkpoint_policy": "some"}, ValueError, "must be one of best, all, none"),
        (
            {"max_length": pytorch.Batch(1), "latest_checkpoint": "/nope"},
            FileNotFoundError,
            "latest_checkpoint is '/nope'; there is no such directory, and no such checkpoint in /",
        ),
    ],
)
def test_what_fit_cannot_do_is_said(
    place: pathlib.Path, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        fit(**options)


@pytest.mark.parametrize("way", ["fit", "configure", "configuration", "nobody"])
def test_the_machine_is_measured_while_fit_trains_where_somebody_asks_for_it(
    place: pathlib.Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    @contextlib.contextmanager
    def measured(wanted: bool, ranks: Any, directory: Any) -> Iterator[None]:
        asked.append(wanted)
        assert ranks.local_rank == 0
        yield

    monkeypatch.setattr("determined._run._profiling.measured", measured)
    with pytorch.init(exp_conf={"profiling": {"enabled": way == "configuration"}}) as context:
        trainer = pytorch.Trainer(LineTrial(context), context)
        if way == "configure":
            trainer.configure_profiler(enabled=True)
        trainer.fit(max_length=pytorch.Batch(1), profiling_enabled=way == "fit")
    assert asked == [way != "nobody"]


def test_a_profiler_of_some_batches_is_said_to_measure_them_all(
    place: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytorch.init() as context:
        trainer = pytorch.Trainer(LineTrial(context), context)
        trainer.configure_profiler(sync_timings=True, enabled=True, begin_on_batch=5, end_after_batch=None)
        trainer.fit(max_length=pytorch.Batch(1))  # off the cluster it measures nothing
    assert "measures the whole training, not just the batches 5 to the last" in caplog.text


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (0, ValueError),
        (1.5, TypeError),
        ([1, True], TypeError),
        ({1.5}, TypeError),
        ("12", TypeError),
        (True, TypeError),
    ],
)
def test_units_are_whole_numbers(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pytorch.Batch(value)


def test_a_context_of_another_kind_is_told_apart() -> None:
    with pytest.raises(TypeError, match="must be a PyTorchTrial"):
        pytorch.Trainer(object(), None)  # type: ignore[arg-type]


def test_hyperparameters_are_what_was_given(place: pathlib.Path) -> None:
    with pytorch.init(hparams={"lr": 1}, exp_conf={"data": {"place": "x"}}, aggregation_frequency=2) as context:
        assert context.get_hparams() == {"lr": 1}
        assert context.get_data_config() == {"place": "x"}
        assert context.aggregation_frequency == 2


@pytest.mark.parametrize(
    "returned",
    [
        [{}],
        [{"loss": float("nan")}],
        [{"curve": [1.0, 2.0], "text": "good"}],
        [{"loss": 1.0}, {"loss": float("nan")}],
        [{"loss": None}],
    ],
)
def test_off_the_cluster_a_validation_may_return_what_no_searcher_could_compare(
    returned: list[dict[str, Any]], place: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    left = iter(returned)

    class Whole(LineTrial):
        evaluate_batch = pytorch.PyTorchTrial.evaluate_batch  # type: ignore[assignment]

        def evaluate_full_dataset(self, data_loader: Any) -> dict[str, Any]:
            return next(left)

    caplog.set_level(logging.INFO)
    with pytorch.init() as context:
        pytorch.Trainer(Whole(context), context).fit(
            max_length=pytorch.Batch(len(returned)), validation_period=pytorch.Batch(1)
        )
    assert said(caplog, "validation") == list(range(1, len(returned) + 1))
    assert sorted(batches(place)) == list(range(1, len(returned) + 1))


@pytest.mark.parametrize("frequency", [0, -1, 1.5, True, "2", None])
def test_gradients_are_aggregated_over_a_whole_number_of_batches(frequency: Any) -> None:
    with pytest.raises(ValueError, match=r"aggregation_frequency is .*; it must be a whole number above 0"):
        pytorch.init(aggregation_frequency=frequency)
