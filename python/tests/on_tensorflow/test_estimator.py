"""Estimator trials: what they are told, what they report, and how they go on after an interruption."""

from __future__ import annotations

import json
import pathlib
import shutil
import time
import warnings
from typing import Any

import aggregation
import estimator_trials as trials
import numpy as np
import pytest
import tensorflow as tf
from estimator_trials import EVENTS, ChanceTrial, Mean, PremadeTrial, Recorder, ServedTrial
from harness import Run
from runs import assert_same_end, begun, interrupted, run
from tensorflow.python.eager import context

from determined import estimator
from determined._tensorflow import _scratch
from determined.common.check import CheckFailedError
from determined.experimental import Checkpoint
from determined.tensorboard import _board

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _no_events() -> None:
    EVENTS.clear()


def variables(it: Run) -> dict[str, Any]:
    controller: Any = it.controller
    found = controller._graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES)
    return dict(zip([one.name for one in found], controller._session.run(found), strict=True))


def files_of(it: Run) -> pathlib.Path:
    place = it.storage.place(it.newest_checkpoint() or "")
    assert place is not None
    return pathlib.Path(place)


@pytest.mark.parametrize("after", [[1], [12], [5, 15]], ids=str)
def test_an_estimator_trial_that_gave_way_ends_with_the_same_bits(after: list[int], tmp_path: pathlib.Path) -> None:
    straight = run(ChanceTrial, tmp_path)
    assert_same_end(straight, interrupted(ChanceTrial, tmp_path, after), variables)


def test_an_estimator_trial_that_was_killed_goes_on_from_its_last_checkpoint(tmp_path: pathlib.Path) -> None:
    config = {"min_checkpoint_period": {"batches": 5}}
    straight = run(ChanceTrial, tmp_path, config=config)
    killed = begun(ChanceTrial, tmp_path, config=config)
    while not killed.client.reports or killed.client.reports[-1][1] < 15:
        killed.steps(1)
    resumed = run(ChanceTrial, tmp_path, config=config, checkpoint=killed.newest_checkpoint())
    assert 0 < int(resumed.context.get_initial_batch()) < 20
    assert_same_end(straight, resumed, variables)


def test_a_premade_estimator_trains_and_goes_on_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    straight = run(PremadeTrial, tmp_path)
    assert straight.loop.state.batches_trained == 20  # whatever max_steps says
    assert "accuracy" in straight.numbers()["validation", 20]
    assert_same_end(straight, interrupted(PremadeTrial, tmp_path, [7]), variables)


@pytest.mark.parametrize("kind", ["linear", "both"])
def test_a_premade_estimator_of_either_generation_takes_an_optimizer_of_the_first(
    kind: str, tmp_path: pathlib.Path
) -> None:
    class Mixed(PremadeTrial):
        def build_estimator(self) -> Any:
            columns = [tf.feature_column.numeric_column("x", shape=(6,))]
            optimizer = self.context.wrap_optimizer(v1.train.AdagradOptimizer(0.1))
            if kind == "linear":
                return tf.estimator.LinearClassifier(columns, optimizer=lambda: optimizer)
            return tf.estimator.DNNLinearCombinedClassifier(
                columns,
                linear_optimizer=self.context.wrap_optimizer(v1.train.FtrlOptimizer(0.1)),
                dnn_feature_columns=columns,
                dnn_hidden_units=[4],
                dnn_optimizer=optimizer,
            )

    straight = run(Mixed, tmp_path)
    steps = [value for name, value in variables(straight).items() if name.startswith("global_step")]
    assert steps == [20]
    losses = [
        metrics["avg_metrics"]["loss"] for (group, _), metrics in straight.numbers().items() if group == "training"
    ]
    assert losses[-1] < losses[0]
    assert_same_end(straight, interrupted(Mixed, tmp_path, [7]), variables)


def test_scalar_summaries_are_the_metrics_of_training(tmp_path: pathlib.Path) -> None:
    reported = run(ChanceTrial, tmp_path, 5).numbers()["training", 5]
    assert set(reported["avg_metrics"]) == {"loss", "hits"}
    assert [set(row) for row in reported["batch_metrics"]] == [{"loss", "hits"}] * 5
    assert reported["avg_metrics"]["hits"] == np.mean([row["hits"] for row in reported["batch_metrics"]])


class SlowSummaryTrial(ChanceTrial):
    """Reports a weight that falls by one in each batch: late, after all that waits for nothing."""

    def model_fn(self, features: Any, labels: Any, mode: Any, params: Any) -> Any:
        weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer(), use_resource=params["resource"])
        loss = weight * tf.cast(tf.reduce_sum(labels) >= 0, tf.float32)
        if mode == tf.estimator.ModeKeys.TRAIN:
            with tf.control_dependencies([tf.numpy_function(lambda: time.sleep(0.02), [], [])]):
                before = tf.cond(loss < 1e9, weight.read_value, lambda: 0.0)
            v1.summary.scalar("before", before)
            optimizer = self.context.wrap_optimizer(v1.train.GradientDescentOptimizer(1.0))
            step = optimizer.minimize(loss, v1.train.get_global_step())
            with tf.control_dependencies([step]):
                v1.summary.scalar("after", weight.read_value())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss)


@pytest.mark.parametrize("resource", [True, False])
def test_a_summary_of_a_variable_is_of_the_batch_before_its_update(resource: bool, tmp_path: pathlib.Path) -> None:
    class Trial(SlowSummaryTrial):
        def build_estimator(self) -> Any:
            return tf.estimator.Estimator(self.model_fn, params={"resource": resource})

    batches = run(Trial, tmp_path, 5).numbers()["training", 5]["batch_metrics"]
    assert [row["before"] for row in batches] == [0, -1, -2, -3, -4]
    assert [row["after"] for row in batches] == [-1, -2, -3, -4, -5]  # where its author put it


def test_metrics_with_reducers_agree_with_tensorflows(tmp_path: pathlib.Path) -> None:
    metrics = run(ChanceTrial, tmp_path).numbers()["validation", 20]
    assert metrics["by_function"] == pytest.approx(metrics["accuracy"])
    assert metrics["by_reducer"] == pytest.approx(metrics["accuracy"])
    assert metrics["pairs"] == trials.ROWS


def test_an_error_in_a_reducer_is_the_users_own(tmp_path: pathlib.Path) -> None:
    class Refuses(Mean):
        def accumulate(self, metric: Any) -> Any:
            raise KeyError("mine")

    class Fails(ChanceTrial):
        def model_fn(self, features: Any, labels: Any, mode: Any, params: Any) -> Any:
            spec = super().model_fn(features, labels, mode, params)
            if mode != tf.estimator.ModeKeys.EVAL:
                return spec
            made = self.context.experimental.make_metric(spec.loss, Refuses(), np.float32)
            return spec._replace(eval_metric_ops={"mine": made})

    with pytest.raises(KeyError, match="mine"):
        run(Fails, tmp_path, 5)


@pytest.mark.parametrize("value", ["text", None, object()])
def test_a_reducer_that_gives_no_number_is_named_with_its_metric(value: Any, tmp_path: pathlib.Path) -> None:
    def last(batches: list[Any]) -> Any:
        return value

    class Odd(ChanceTrial):
        def model_fn(self, features: Any, labels: Any, mode: Any, params: Any) -> Any:
            spec = super().model_fn(features, labels, mode, params)
            if mode != tf.estimator.ModeKeys.EVAL:
                return spec
            made = self.context.experimental.make_metric(spec.loss, last, np.float32)
            return spec._replace(eval_metric_ops={**spec.eval_metric_ops, "mine": made})

    with pytest.raises(TypeError, match=r"metric 'mine': the reducer last\(\) returned .*; it must return a number"):
        run(Odd, tmp_path, 5)


def test_summaries_are_written_for_the_board_as_often_as_the_estimator_says(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Often(ChanceTrial):
        def build_estimator(self) -> Any:
            config = tf.estimator.RunConfig(save_summary_steps=3)
            return tf.estimator.Estimator(self.model_fn, params={"width": 8}, config=config)

    monkeypatch.setattr(_board, "_base", tmp_path / "board")
    run(Often, tmp_path, 5)
    (file,) = (tmp_path / "board" / "train").iterdir()
    events = [one for one in v1.train.summary_iterator(str(file)) if one.summary.value]
    assert [one.step for one in events] == [1, 4]
    (logits,) = [value for value in events[0].summary.value if value.tag == "logits"]
    assert logits.histo.num == 8  # four records, two classes


def test_what_an_estimator_has_no_place_for_is_in_the_tasks_own_directory(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("task", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("DET_WORKDIR", str(tmp_path / "task"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(_board, "_base", tmp_path)
    _scratch.root.cache_clear()
    it = begun(ServedTrial, tmp_path, 5)
    (own,) = (tmp_path / "task").iterdir()
    assert own.name.startswith(".") and len(list(own.iterdir())) == 2  # the user's Estimator's, and ours
    it.finish()
    assert list((tmp_path / "temporary").iterdir()) == []
    assert "temporary folder" not in caplog.text
    _scratch.root.cache_clear()


def test_data_of_estimators_is_not_tuned_and_nothing_is_said_of_it(tmp_path: pathlib.Path) -> None:
    controller: Any = begun(ChanceTrial, tmp_path).controller
    with tf.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert controller._evaluation_input()._options_attr.autotune.enabled is False


def test_what_make_metric_cannot_take_is_named() -> None:
    debugged = estimator.EstimatorTrialContext.from_config({"hyperparameters": {"global_batch_size": 1}})
    make = debugged.experimental.make_metric
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        with pytest.raises(TypeError, match="nested"):
            make([[one]], np.mean, np.float32)
        with pytest.raises(TypeError, match="the key 1"):
            make({1: one}, np.mean, np.float32)
        with pytest.raises(TypeError, match="contains a object"):
            make(object(), np.mean, np.float32)
        with pytest.raises(TypeError, match="reducer of make_metric\\(\\) is a int"):
            make(one, 3, np.float32)
        make(1.5, np.mean, np.float32)  # a constant is made a tensor


def test_hooks_hear_of_everything_in_its_order(tmp_path: pathlib.Path) -> None:
    first = run(ServedTrial, tmp_path, 10, preempt_after=5)
    first.controller.close()
    assert [name for name, _ in EVENTS] == ["begin", "session", *["step"] * 5, "checkpoint", "end", "close"]
    EVENTS.clear()
    second = run(ServedTrial, tmp_path, 10, checkpoint=first.newest_checkpoint())
    second.controller.close()
    assert [name for name, _ in EVENTS] == ["load", "begin", "session", *["step"] * 5, "checkpoint", "end", "close"]
    assert (files_of(second) / "note.txt").read_text() == "kept"


def test_a_hook_hears_of_the_end_of_a_trial_that_fails(tmp_path: pathlib.Path) -> None:
    class Fails(ChanceTrial):
        hooks = (Recorder, lambda: _Failing())

    it = begun(Fails, tmp_path)

    def whole() -> None:
        try:
            it.finish()
        finally:
            it.controller.close()

    with pytest.raises(ZeroDivisionError):
        whole()
    assert [name for name, _ in EVENTS if name != "step"] == ["begin", "session", "close"]


class _Failing(v1.train.SessionRunHook):  # type: ignore[misc]
    def after_run(self, run_context: Any, run_values: Any) -> None:
        raise ZeroDivisionError


def test_every_checkpoint_holds_a_saved_model_for_each_serving_function(tmp_path: pathlib.Path) -> None:
    it = run(ServedTrial, tmp_path, 5)
    root = files_of(it)
    trained = it.controller
    x, _ = trials.rows(5, 3)
    logits = {}
    for name in ("raw", "parsing"):
        (model,) = (root / name).iterdir()
        assert model.name.isdigit() and (model / "saved_model.pb").is_file()
        with tf.Graph().as_default(), v1.Session() as session:
            signature = v1.saved_model.load(session, ["serve"], str(model)).signature_def["serving_default"]
            output = signature.outputs["logits"].name
            if name == "raw":
                feed = {signature.inputs["x"].name: x, signature.inputs["kind"].name: [0, 1, 2]}
            else:
                feed = {next(iter(signature.inputs.values())).name: [_example(row, k) for k, row in enumerate(x)]}
            logits[name] = session.run(output, feed)
    np.testing.assert_array_equal(logits["raw"], logits["parsing"])
    with pytest.raises(AssertionError, match=r"holds 2 SavedModels; .*raw/\d+.*tf.saved_model.load"):
        estimator.load_estimator_from_checkpoint_path(root)
    shutil.rmtree(root / "parsing")
    (root / "metadata.json").write_text(json.dumps({"framework": "tensorflow-2.15.1", "format": "saved_model"}))
    with context.eager_mode():
        loaded = Checkpoint.load_from_path(root)
        found = loaded.signatures["serving_default"](x=tf.constant(x), kind=tf.constant([0, 1, 2], tf.int64))
    np.testing.assert_array_equal(found["logits"].numpy(), logits["raw"])
    shutil.rmtree(root / "raw")
    with pytest.raises(AssertionError, match=r"holds no SavedModel.*build_serving_input_receiver_fns\(\)"):
        estimator.load_estimator_from_checkpoint_path(root)
    with pytest.raises(FileNotFoundError, match="nowhere is not a directory"):
        estimator.load_estimator_from_checkpoint_path(root / "nowhere")
    assert trained is not None and (root / "checkpoint").is_file() and (root / "graph.pbtxt").is_file()
    assert v1.train.latest_checkpoint(str(root)) == str(root / "model.ckpt-5")


def _example(x: Any, kind: int) -> bytes:
    feature = {
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
        "kind": tf.train.Feature(int64_list=tf.train.Int64List(value=[kind])),
    }
    return bytes(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def test_a_hook_that_asks_to_stop_stops_the_trial_after_its_workload(tmp_path: pathlib.Path) -> None:
    class Stops(ChanceTrial):
        hooks = (lambda: v1.train.StopAtStepHook(last_step=2),)

    it = run(Stops, tmp_path)
    assert it.loop.state.batches_trained == 5
    assert it.client.early_exit == "EXITED_REASON_USER_REQUESTED_STOP"


def test_another_trials_weights_are_taken_without_its_optimizer_and_its_place(tmp_path: pathlib.Path) -> None:
    first = run(ChanceTrial, tmp_path)
    second = begun(ChanceTrial, tmp_path, checkpoint=first.newest_checkpoint(), warm_start=True)
    trained, taken = variables(first), variables(second)
    for name, value in taken.items():
        if "Adam" in name or "power" in name or name == "global_step:0":
            assert not np.array_equal(value, trained[name])
        else:
            np.testing.assert_array_equal(value, trained[name])
    assert second.loop.state.batches_trained == 0


@pytest.mark.parametrize(
    ("method", "result", "message"),
    [
        ("build_estimator", None, "a NoneType, expected a tf.estimator.Estimator: result of Wrong.build_estimator"),
        ("build_train_spec", 3, "a int.*build_train_spec"),
        ("build_validation_spec", {}, "a dict.*build_validation_spec"),
        ("build_serving_input_receiver_fns", [], "a list.*build_serving_input_receiver_fns"),
        ("build_serving_input_receiver_fns", {"code": None}, "'code'.*a valid directory name other than code"),
    ],
)
def test_a_method_that_returns_something_else_is_named(
    method: str, result: Any, message: str, tmp_path: pathlib.Path
) -> None:
    wrong = type("Wrong", (ChanceTrial,), {method: lambda self: result})
    with pytest.raises(CheckFailedError, match=message):
        begun(wrong, tmp_path)


def test_an_input_function_that_returns_a_tuple_is_refused(tmp_path: pathlib.Path) -> None:
    class Tensors(ChanceTrial):
        def build_train_spec(self) -> Any:
            return tf.estimator.TrainSpec(lambda: (tf.zeros([1]), tf.zeros([1])))

    with pytest.raises(CheckFailedError, match=r"a tuple from the input_fn of Tensors.build_train_spec\(\).*tf.data"):
        begun(Tensors, tmp_path)


def test_what_was_not_wrapped_is_named(tmp_path: pathlib.Path) -> None:
    class BareData(ChanceTrial):
        def data(self, seed: int) -> Any:
            return tf.data.Dataset.from_tensor_slices(({"x": trials.rows(seed)[0], "kind": [0] * 40}, [0] * 40))

    with pytest.raises(
        CheckFailedError, match=r"an unwrapped data set from .* BareData.build_train_spec.*context.wrap_dataset\(\)"
    ):
        begun(BareData, tmp_path)

    class BareOptimizer(PremadeTrial):
        def build_estimator(self) -> Any:
            columns = [tf.feature_column.numeric_column("x", shape=(6,))]
            return v1.estimator.DNNClassifier([8], columns, n_classes=2)

    with pytest.raises(
        CheckFailedError,
        match=r"an unwrapped optimizer in BareOptimizer.build_estimator.*expected one from context.wrap_optimizer\(\)",
    ):
        begun(BareOptimizer, tmp_path).finish()


class CalmTrial(estimator.EstimatorTrial):
    """No chance, and clipped gradients."""

    def build_estimator(self) -> Any:
        return tf.estimator.Estimator(self.model_fn)

    def model_fn(self, features: Any, labels: Any, mode: Any) -> Any:
        loss = v1.losses.sparse_softmax_cross_entropy(labels, v1.layers.dense(features["x"], 2))
        if mode != tf.estimator.ModeKeys.TRAIN:
            return tf.estimator.EstimatorSpec(mode, loss=loss)
        optimizer = self.context.wrap_optimizer(v1.train.MomentumOptimizer(0.5, 0.9))
        gradients, weights = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped = [tf.clip_by_value(gradient, -0.1, 0.1) for gradient in gradients]
        step = optimizer.apply_gradients(zip(clipped, weights, strict=True), v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    def data(self, seed: int) -> Any:
        x, y = trials.rows(seed, 48)
        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(({"x": x}, y)))

    def build_train_spec(self) -> Any:
        return tf.estimator.TrainSpec(lambda: self.data(1).batch(self.context.get_per_slot_batch_size()))

    def build_validation_spec(self) -> Any:
        return tf.estimator.EvalSpec(lambda: self.data(2).batch(4), steps=None)


def test_an_estimator_trial_that_aggregates_ends_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    aggregation.assert_interruptions_change_nothing(ChanceTrial, tmp_path, {}, variables)


def test_aggregated_gradients_of_an_estimator_are_those_of_a_large_batch(tmp_path: pathlib.Path) -> None:
    aggregation.assert_small_batches_train_as_large_ones(CalmTrial, tmp_path, {}, variables)


def test_an_optimizer_of_keras_cannot_aggregate_in_an_estimator(tmp_path: pathlib.Path) -> None:
    class Keras(CalmTrial):
        def model_fn(self, features: Any, labels: Any, mode: Any) -> Any:
            self.context.wrap_optimizer(tf.keras.optimizers.legacy.SGD(0.1))

    with pytest.raises(CheckFailedError, match="aggregation_frequency 4 with a SGD"):
        begun(Keras, tmp_path, config={"optimizations": {"aggregation_frequency": 4}})


def test_the_second_generations_behaviour_is_switched_off(tmp_path: pathlib.Path) -> None:
    seen = []

    class Looks(PremadeTrial):
        def build_estimator(self) -> Any:
            seen.append((tf.executing_eagerly(), v1.resource_variables_enabled()))
            return super().build_estimator()

    begun(Looks, tmp_path)
    assert seen == [(False, False)]


def test_an_empty_data_set_is_named(tmp_path: pathlib.Path) -> None:
    class Empty(PremadeTrial):
        def data(self, seed: int) -> Any:
            return super().data(seed).take(0)

    with pytest.raises(RuntimeError, match="the training data set is empty"):
        begun(Empty, tmp_path).finish()

    class NoneToEvaluate(PremadeTrial):
        def data(self, seed: int) -> Any:
            return super().data(seed).take(0 if seed == 2 else -1)

    with pytest.raises(CheckFailedError, match="no validation batches"):
        begun(NoneToEvaluate, tmp_path).finish()
