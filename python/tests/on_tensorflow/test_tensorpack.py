"""Tensorpack trials: their methods of both generations, schedules, and how they go on after an interruption."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import aggregation
import numpy as np
import pytest
import tensorflow as tf
import tensorpack as tp
from harness import Run
from runs import assert_same_end, begun, interrupted
from runs import run as run_any
from tensorpack_trials import NewTrial, Numbers, OldTrial

from determined.common.check import CheckFailedError
from determined.experimental import Checkpoint
from determined.tensorpack import NamedTensorsEvaluator, SchedulePoint, ScheduleSetter

v1 = tf.compat.v1
CONFIG = {"searcher": {"metric": "val_accuracy", "smaller_is_better": False}}
OLD = {"searcher": {"metric": "norm"}}


def run(trial_class: Any, storage: pathlib.Path, length: int = 20, **options: Any) -> Run:
    return run_any(trial_class, storage, length, **{"config": CONFIG, **options})


def variables(it: Run) -> dict[str, Any]:
    controller: Any = it.controller
    found = controller._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
    return dict(zip([one.name for one in found], controller._trainer.sess.run(found), strict=True))


@pytest.mark.parametrize("after", [[1], [5, 12]], ids=str)
def test_a_tensorpack_trial_that_gave_way_ends_with_the_same_bits(after: list[int], tmp_path: pathlib.Path) -> None:
    straight = run(NewTrial, tmp_path)
    assert_same_end(straight, interrupted(NewTrial, tmp_path, after, config=CONFIG), variables)


def test_named_tensors_are_averaged_over_the_validation_dataflow(tmp_path: pathlib.Path) -> None:
    found = run(NewTrial, tmp_path, 10).numbers()["validation", 10]
    assert set(found) == {"val_accuracy", "val_cost"}
    assert found["val_accuracy"] * 40 == pytest.approx(round(found["val_accuracy"] * 40), abs=1e-4)


def test_training_metrics_are_the_loss_and_what_is_named(tmp_path: pathlib.Path) -> None:
    it = run(NewTrial, tmp_path, 10)
    rows = [row for at in (5, 10) for row in it.numbers()["training", at]["batch_metrics"]]
    assert [set(row) for row in rows] == [{"loss", "learning_rate", "accuracy"}] * 10
    rates = [row["learning_rate"] for row in rows]
    np.testing.assert_allclose(rates, [0.1 - 0.009 * step for step in range(10)], rtol=1e-5)


def test_methods_with_hyperparameters_get_them(tmp_path: pathlib.Path) -> None:
    NewTrial.asked.clear()
    it = run(OldTrial, tmp_path, 5, config=OLD)
    assert NewTrial.asked == [(4, "replicated")]
    found = it.numbers()["validation", 5]
    assert set(found) == {"norm", "val/size[a]:0"} and found["val/size[a]:0"] == 4


def test_an_evaluators_trial_that_gave_way_ends_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    straight = run(OldTrial, tmp_path, 10, config=OLD)
    assert_same_end(straight, interrupted(OldTrial, tmp_path, [5], 10, config=OLD), variables)


def test_backbone_weights_are_loaded_where_a_trial_begins(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "backbone.npz", **{"first/W:0": np.full((6, 8), 0.25, np.float32)})
    config = {**OLD, "hyperparameters": {"global_batch_size": 4, "backbone": str(tmp_path / "backbone.npz")}}
    first = begun(OldTrial, tmp_path, 5, config=config)
    assert (variables(first)["first/W:0"] == 0.25).all()
    first.finish()
    again = begun(OldTrial, tmp_path, 10, config=config, checkpoint=first.newest_checkpoint())
    np.testing.assert_array_equal(variables(again)["first/W:0"], variables(first)["first/W:0"])
    assert not (variables(again)["first/W:0"] == 0.25).all()


def test_another_trials_model_is_taken_with_its_statistics_and_without_optimizer_and_hyperparameters(
    tmp_path: pathlib.Path,
) -> None:
    class Plain(NewTrial):
        def tensorpack_callbacks(self) -> list[Any]:
            return []

    first = run(NewTrial, tmp_path, 10)
    second = begun(Plain, tmp_path, config=CONFIG, checkpoint=first.newest_checkpoint(), warm_start=True)
    trained, taken = variables(first), variables(second)
    of_the_model = {
        name for name in taken if name.startswith(("first/", "norm/", "second/")) and "Momentum" not in name
    }
    assert any("EMA" in name for name in of_the_model)
    for name in of_the_model:
        np.testing.assert_array_equal(taken[name], trained[name])
    assert taken["learning_rate:0"] == 0.5 and taken["global_step:0"] == 0
    assert all(not value.any() for name, value in taken.items() if "Momentum" in name)


def test_a_checkpoint_is_one_of_tensorflow(tmp_path: pathlib.Path) -> None:
    it = run(NewTrial, tmp_path, 5)
    place = it.storage.place(it.newest_checkpoint() or "")
    assert place is not None
    path = v1.train.latest_checkpoint(place)
    assert path == f"{place}/model-5"
    weights = v1.train.load_checkpoint(path).get_tensor("first/W")
    np.testing.assert_array_equal(weights, variables(it)["first/W:0"])
    assert json.loads((pathlib.Path(place) / "metadata.json").read_text())["format"] == "checkpoint"
    with pytest.raises(AssertionError, match="holds no SavedModel, so only its variables can be read"):
        Checkpoint.load_from_path(place)


def test_a_schedule_holds_or_moves_between_its_points() -> None:
    points = [
        SchedulePoint(10, 1.0),
        SchedulePoint(20, 2.0, "interp"),
        SchedulePoint(30, 4.0, "linear"),
        SchedulePoint(40, 0),
    ]
    setter = ScheduleSetter("rate", points)
    expected = {0: 1.0, 10: 1.0, 19: 1.0, 20: 2.0, 25: 3.0, 30: 4.0, 35: 2.0, 40: 0.0, 99: 0.0}
    assert {step: setter.value_at(step) for step in expected} == expected


def test_a_schedule_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="interp 'cubic'"):
        ScheduleSetter("rate", [SchedulePoint(0, 1.0, "cubic")])
    with pytest.raises(ValueError, match="is empty"):
        ScheduleSetter("rate", [])
    with pytest.raises(ValueError, match="two points at step 3"):
        ScheduleSetter("rate", [SchedulePoint(3, 1.0), SchedulePoint(3, 2.0)])


def test_what_a_tensorpack_trial_must_give_is_said(tmp_path: pathlib.Path) -> None:
    for method, result, message in (
        ("build_training_dataflow", [], "a list.*Wrong.build_training_dataflow"),
        ("build_model", None, "a NoneType.*Wrong.build_model"),
        ("build_validation_dataflow", None, r"no validation dataflow.*Wrong.build_validation_dataflow\(\)"),
        ("validation_metrics", "accuracy", "a str.*or return an Evaluator"),
        ("validation_metrics", ["accuracy", 3], r"3 as item 1 of the result of Wrong.validation_metrics\(\)"),
        ("tensorpack_callbacks", [3], r"3 as item 0 of .* Wrong.tensorpack_callbacks\(\), expected a Callback of Te"),
        ("tensorpack_monitors", [4], r"4 as item 0 of .* Wrong.tensorpack_monitors\(\), expected a MonitorBase of"),
    ):
        wrong = type("Wrong", (NewTrial,), {method: lambda self, *_, found=result: found})
        if method in ("build_model", "validation_metrics"):
            setattr(wrong, method, _taking(method, result))
        with pytest.raises(CheckFailedError, match=message):
            begun(wrong, tmp_path)
    unknown = type("Unknown", (NewTrial,), {"training_metrics": lambda self: ["nowhere"]})
    with pytest.raises(ValueError, match="training metric 'nowhere' is neither"):
        begun(unknown, tmp_path)
    unknown = type("Unknown", (NewTrial,), {"validation_metrics": lambda self: ["accuracy", "nowhere"]})
    with pytest.raises(ValueError, match=r"Unknown.validation_metrics\(\) names 'nowhere', which is not a tensor"):
        begun(unknown, tmp_path)


def _taking(method: str, result: Any) -> Any:
    return (lambda self, trainer_type: result) if method == "build_model" else (lambda self: result)


def test_a_monitor_hears_of_summaries(tmp_path: pathlib.Path) -> None:
    heard: list[str] = []

    class Listens(tp.callbacks.MonitorBase):  # type: ignore[misc]
        def process_scalar(self, name: str, value: float) -> None:
            heard.append(name)

    kind = type("Monitored", (NewTrial,), {"tensorpack_monitors": lambda self: [Listens()]})
    run(kind, tmp_path, 5)
    assert "accuracy" in heard


def test_a_callback_that_estimates_the_time_left_has_a_date_for_the_end(tmp_path: pathlib.Path) -> None:
    estimate = {"tensorpack_callbacks": lambda self: [tp.callbacks.EstimatedTimeLeft()]}
    run(type("Estimating", (NewTrial,), estimate), tmp_path, 5)


def test_named_tensors_can_be_evaluated_without_input(tmp_path: pathlib.Path) -> None:
    evaluator = {"validation_metrics": lambda self: NamedTensorsEvaluator(["learning_rate:0"])}
    kind = type("Named", (NewTrial,), evaluator)
    found = run(kind, tmp_path, 10, config={"searcher": {"metric": "learning_rate:0"}}).numbers()
    assert found["validation", 10] == {"learning_rate:0": pytest.approx(0.01)}


def test_only_callbacks_that_have_a_part_in_runs_are_asked_at_every_run(tmp_path: pathlib.Path) -> None:
    heard: list[str] = []

    class Counts(tp.Callback):  # type: ignore[misc]
        def _trigger_step(self) -> None:
            heard.append("step")

    class Looks(tp.Callback):  # type: ignore[misc]
        def _after_run(self, _: Any, __: Any) -> None:
            heard.append("run")

    looks = tp.callbacks.PeriodicCallback(Looks(), every_k_steps=2)
    kind = type("Called", (NewTrial,), {"tensorpack_callbacks": lambda self: [Counts(), looks]})
    it: Any = run(kind, tmp_path, 10)
    asked = [type(one._cb).__name__ for one in it.controller._trainer.hooked_sess._hooks]
    assert heard.count("step") == 10 and heard.count("run") == 5
    assert "PeriodicCallback" in asked and "Counts" not in asked


class CalmModel(tp.ModelDesc):  # type: ignore[misc]
    def inputs(self) -> Any:
        return [tf.TensorSpec((None, 6), tf.float32, "x"), tf.TensorSpec((None,), tf.int32, "y")]

    def build_graph(self, x: Any, y: Any) -> Any:
        logits = tp.FullyConnected("only", x, 2)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=y), name="cost")

    def optimizer(self) -> Any:
        return v1.train.MomentumOptimizer(0.5, 0.9)


class CalmTrial(NewTrial):
    """No chance."""

    def build_model(self, trainer_type: str) -> Any:
        return CalmModel()

    def build_training_dataflow(self) -> Any:
        return tp.BatchData(Numbers(1, 48, chance=False), self.context.get_per_slot_batch_size())

    def validation_metrics(self) -> Any:
        return ["cost"]

    def training_metrics(self) -> list[str]:
        return []

    def tensorpack_callbacks(self) -> list[Any]:
        return []


def test_a_tensorpack_trial_that_aggregates_ends_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    aggregation.assert_interruptions_change_nothing(NewTrial, tmp_path, CONFIG, variables)


def test_aggregated_gradients_of_tensorpack_are_those_of_a_large_batch(tmp_path: pathlib.Path) -> None:
    config = {"searcher": {"metric": "val_cost"}}
    aggregation.assert_small_batches_train_as_large_ones(CalmTrial, tmp_path, config, variables)
