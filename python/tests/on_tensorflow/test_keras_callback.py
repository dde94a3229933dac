"""``DeterminedCallback`` with ``tf.keras``, without a cluster."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from determined import core
from determined.keras import DeterminedCallback

EPOCHS = 5


class Recorder(core.DummyTrainContext):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, int, dict[str, Any]]] = []

    def report_training_metrics(self, steps_completed: int, metrics: Any, batch_metrics: Any = None) -> None:
        self.rows.append(("training", steps_completed, dict(metrics)))

    def report_validation_metrics(self, steps_completed: int, metrics: Any) -> None:
        self.rows.append(("validation", steps_completed, dict(metrics)))


def train(place: pathlib.Path, checkpoint: str | None = None, stops_after: int = 0, continue_id: str = "one") -> Any:
    """Returns the reports, the weights, and the last checkpoint."""
    tf.keras.utils.set_random_seed(3)
    x = np.random.rand(64, 4).astype("float32")
    y = (x.sum(1) > 2).astype("float32")
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8, "relu", input_shape=(4,)), tf.keras.layers.Dense(1, "sigmoid")]
    )
    model.compile(tf.keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"])
    with core.init(checkpoint_storage=place) as context:
        context.train = recorder = Recorder()
        asked = 0

        def should_preempt(auto_ack: bool = True) -> bool:
            nonlocal asked
            asked += 1
            return asked == stops_after

        context.preempt.should_preempt = should_preempt  # type: ignore[method-assign]
        callback = DeterminedCallback(context, checkpoint, continue_id, train_metrics_report_period=3)
        plateau = tf.keras.callbacks.ReduceLROnPlateau(patience=1, min_delta=1.0)
        fit = {"batch_size": 16, "validation_data": (x, y), "shuffle": False, "verbose": 0}
        model.fit(x, y, epochs=EPOCHS, callbacks=[callback, plateau], **fit)
        assert callback.preempted == (stops_after > 0)
    newest = max(place.iterdir(), key=lambda path: path.stat().st_mtime_ns).name
    return recorder.rows, [weight.tolist() for weight in model.get_weights()], newest


def test_a_training_that_continues_ends_with_the_numbers_of_one_that_was_not_interrupted(
    tmp_path: pathlib.Path,
) -> None:
    rows, weights, _ = train(tmp_path / "whole")
    assert [steps for group, steps, _ in rows if group == "validation"] == [4, 8, 12, 16, 20]
    assert [steps for group, steps, _ in rows if group == "training"] == [3, 6, 9, 12, 15, 18]
    begun, _, checkpoint = train(tmp_path / "parts", stops_after=2)
    rest, ended, _ = train(tmp_path / "parts", checkpoint)
    assert begun + rest == rows
    assert ended == weights


def test_with_another_id_only_the_weights_are_taken(tmp_path: pathlib.Path) -> None:
    _, _, checkpoint = train(tmp_path, stops_after=2)
    rows, _, _ = train(tmp_path, checkpoint, continue_id="another")
    assert [steps for group, steps, _ in rows if group == "validation"] == [4, 8, 12, 16, 20]


@pytest.mark.parametrize("words", [{"train_metrics_report_period": 0}, {"checkpoint_epochs": -1}])
def test_arguments_are_checked(words: dict[str, Any], tmp_path: pathlib.Path) -> None:
    with core.init(checkpoint_storage=tmp_path) as context, pytest.raises(ValueError, match="must be"):
        DeterminedCallback(context, None, "one", **words)
