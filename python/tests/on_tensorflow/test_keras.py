"""Keras trials: what they train on, what they are told, and how they go on after an interruption."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import threading
from typing import Any

import aggregation
import keras_trials as trials
import numpy as np
import pytest
import tensorflow as tf
from harness import Run
from keras_trials import EVENTS, ArrayTrial, DatasetTrial, SequenceTrial
from runs import assert_same_end, begun, interrupted, on_cluster
from runs import run as run_any

from determined import keras
from determined._ranks._distributed import DistributedContext
from determined._tensorflow._tuning import without_tuning
from determined.common.check import CheckFailedError
from determined.errors import InvalidDataTypeException, InvalidExperimentException
from determined.experimental import Checkpoint
from determined.keras import _data

CONFIG = {"searcher": {"metric": "val_loss", "smaller_is_better": True}}


@pytest.fixture(autouse=True)
def _no_events() -> None:
    EVENTS.clear()


def run(trial_class: Any, storage: pathlib.Path, length: int = 20, **options: Any) -> Run:
    return run_any(trial_class, storage, length, **{"config": CONFIG, **options})


def variables(it: Run) -> dict[str, Any]:
    controller: Any = it.controller
    found = {f"w{place}": one.numpy() for place, one in enumerate(controller._model.weights)}
    for optimizer in it.context.optimizers:  # type: ignore[attr-defined]
        found.update({f"o{place}": one.numpy() for place, one in enumerate(optimizer.variables())})
    return found


@pytest.mark.parametrize("kind", [ArrayTrial, DatasetTrial, SequenceTrial])
def test_a_keras_trial_that_gave_way_ends_with_the_same_bits(kind: Any, tmp_path: pathlib.Path) -> None:
    straight = run(kind, tmp_path)  # an epoch of the sequence has 7 batches
    assert_same_end(straight, interrupted(kind, tmp_path, [7, 16], config=CONFIG), variables)


def test_a_model_that_runs_eagerly_ends_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    class Eager(ArrayTrial):
        def build_model(self) -> Any:
            model = super().build_model()
            model.run_eagerly = True
            return model

    straight = run(Eager, tmp_path, 10)
    assert_same_end(straight, interrupted(Eager, tmp_path, [5], 10, config=CONFIG), variables)


def test_metrics_of_training_are_running_means_and_those_of_validation_have_a_prefix(tmp_path: pathlib.Path) -> None:
    it = run(ArrayTrial, tmp_path, 10)
    reported = it.numbers()["training", 5]
    assert set(reported["avg_metrics"]) == {"loss", "accuracy"}
    assert reported["avg_metrics"] == reported["batch_metrics"][-1]
    model: Any = it.controller._model  # type: ignore[attr-defined]
    loss, accuracy = model.evaluate(*trials.rows(2), batch_size=4, verbose=0)
    found = it.numbers()["validation", 10]
    assert found == {"val_loss": pytest.approx(loss), "val_accuracy": pytest.approx(accuracy)}


def test_callbacks_hear_of_workloads_epochs_and_checkpoints_and_keep_their_state(tmp_path: pathlib.Path) -> None:
    first = run(ArrayTrial, tmp_path, 12, preempt_after=10)  # 42 records are 11 batches of 4
    first.controller.close()
    assert [name for name, _ in EVENTS] == ["begin", "workload", "trained", "workload", "trained", "end"]
    EVENTS.clear()
    second = run(ArrayTrial, tmp_path, 12, checkpoint=first.newest_checkpoint())
    second.controller.close()
    expected = [
        ("begin", None),
        ("state", 10),
        ("tested", {"loss", "accuracy"}),
        ("workload", (10, 2)),
        ("epoch", 0),
        ("trained", 12),
        ("tested", {"loss", "accuracy"}),
        ("end", None),
    ]
    assert expected == EVENTS
    place = second.storage.place(second.newest_checkpoint() or "")
    assert place is not None and (pathlib.Path(place) / "note.txt").read_text() == "12"


def test_every_batch_of_an_epoch_comes_once_and_in_another_order_in_the_next(tmp_path: pathlib.Path) -> None:
    batches = _data.Batches(5, lambda number: number)
    ranks = [DistributedContext(rank=rank, size=2) for rank in range(2)]
    streams = [batches.training(seed=3, shuffle=True, start=0, ranks=one) for one in ranks]
    seen = [next(streams[number % 2]) for number in range(10)]
    assert sorted(seen[:5]) == sorted(seen[5:]) == list(range(5)) and seen[:5] != seen[5:]
    later = batches.training(seed=3, shuffle=True, start=3, ranks=ranks[1])
    assert next(later) == seen[7]


def test_what_the_end_of_an_epoch_draws_follows_from_seed_and_epoch_and_disturbs_nothing() -> None:
    def drawn(start: int) -> Any:
        found: list[Any] = []

        def epoch_end() -> None:
            found.append((np.random.rand(), random.random(), float(tf.random.uniform([]))))

        batches = _data.Batches(3, lambda number: number, epoch_end)
        stream = batches.training(seed=3, shuffle=False, start=start, ranks=DistributedContext(rank=0, size=1))
        np.random.seed(start)
        expected = np.random.RandomState(start).rand()
        for _ in range(start, 10):
            next(stream)
        assert np.random.rand() == expected
        return found

    straight = drawn(0)
    assert len(set(straight)) == 3 and straight == drawn(5) == drawn(9)


def test_early_stopping_counts_validations(tmp_path: pathlib.Path) -> None:
    class Stops(ArrayTrial):
        optimizer = tf.keras.optimizers.legacy.SGD(0.0)

        def keras_callbacks(self) -> list[Any]:
            return [keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2, mode="max")]

    config = {**CONFIG, "min_validation_period": {"batches": 5}}
    it = run(Stops, tmp_path, 100, config=config)
    assert it.loop.state.batches_trained == 15
    assert it.client.early_exit == "EXITED_REASON_USER_REQUESTED_STOP"


def test_class_weights_scale_the_loss(tmp_path: pathlib.Path) -> None:
    class Weighed(ArrayTrial):
        def build_model(self) -> Any:
            self.context.configure_fit(class_weight={0: 0.0, 1: 0.0}, verbose=False)
            return super().build_model()

    assert run(Weighed, tmp_path, 5).numbers()["training", 5]["avg_metrics"]["loss"] == 0.0


def test_what_a_keras_trial_must_do_is_said(tmp_path: pathlib.Path) -> None:
    def no_wrap(self: Any) -> Any:
        return tf.keras.Sequential([tf.keras.layers.Dense(1)])

    def no_compile(self: Any) -> Any:
        return self.context.wrap_model(no_wrap(self))

    def too_late(self: Any) -> Any:
        model = no_wrap(self)
        model.compile("sgd")
        return self.context.wrap_model(model)

    for method, message in (
        (no_wrap, "must return what"),
        (no_compile, "must compile"),
        (too_late, "before the model's"),
    ):
        with pytest.raises(InvalidExperimentException, match=message):
            begun(type("Wrong", (ArrayTrial,), {"build_model": method}), tmp_path)
    bare = type("Bare", (ArrayTrial,), {"build_training_data_loader": lambda self: tf.data.Dataset.range(3)})
    with pytest.raises(InvalidExperimentException, match=r"context.wrap_dataset\(\)"):
        begun(bare, tmp_path)
    odd = type("Odd", (ArrayTrial,), {"build_training_data_loader": lambda self: [1, 2]})
    with pytest.raises(InvalidDataTypeException, match=r"type list: Odd.build_training_data_loader\(\) must return"):
        begun(odd, tmp_path)


def test_an_abstract_method_that_is_missing_is_named(tmp_path: pathlib.Path) -> None:
    class Half(keras.TFKerasTrial):
        def build_model(self) -> Any:
            return None

    with pytest.raises(
        CheckFailedError, match=r"Half without build_training_data_loader\(\), build_validation_.*a TFKerasTrial must"
    ):
        begun(Half, tmp_path)


def test_a_callback_that_is_none_or_cannot_be_kept_is_named(tmp_path: pathlib.Path) -> None:
    class Locked(keras.callbacks.Callback):
        def get_state(self) -> Any:
            return threading.Lock()

    odd = type("Odd", (ArrayTrial,), {"keras_callbacks": lambda self: [Locked(), "x"]})
    with pytest.raises(CheckFailedError, match=r"'x' as item 1 of the result of Odd.keras_callbacks\(\)"):
        begun(odd, tmp_path)
    locked = type("Keeps", (ArrayTrial,), {"keras_callbacks": lambda self: [Locked()]})
    with pytest.raises(CheckFailedError, match=r"pickled \(.*lock.*\) from Locked.get_state\(\)"):
        run(locked, tmp_path, 5)


@pytest.mark.parametrize("kind", [tf.keras.optimizers.Adam, tf.keras.optimizers.legacy.SGD])
def test_another_trials_model_is_taken_without_its_optimizer_whatever_its_kind(
    kind: Any, tmp_path: pathlib.Path
) -> None:
    class Other(ArrayTrial):
        def build_model(self) -> Any:
            self.optimizer = kind(0.25)
            return super().build_model()

    first = run(ArrayTrial, tmp_path, 5)
    second: Any = begun(Other, tmp_path, config=CONFIG, checkpoint=first.newest_checkpoint(), warm_start=True)
    trained, taken = variables(first), variables(second)
    for name in (name for name in taken if name.startswith("w")):
        np.testing.assert_array_equal(taken[name], trained[name])
    (optimizer,) = second.context.optimizers
    assert float(optimizer.learning_rate) == 0.25 and int(optimizer.iterations) == 0
    assert all(not np.any(one.numpy()) for one in optimizer.variables() if one.shape.rank > 0)


def test_the_tuning_of_data_is_off_unless_the_data_set_enables_it(tmp_path: pathlib.Path) -> None:
    for kind in (ArrayTrial, DatasetTrial):
        controller: Any = begun(kind, tmp_path, config=CONFIG).controller
        for data in (controller._training_set(), controller._validation_set()):
            assert data.options().autotune.enabled is False
    wanted = tf.data.Options()
    wanted.autotune.enabled = True
    assert without_tuning(tf.data.Dataset.range(3).with_options(wanted)).options().autotune.enabled is True


def saved(it: Run, **description: Any) -> pathlib.Path:
    """A checkpoint as it is after its download, with the source of the trials here."""
    place = pathlib.Path(it.storage.place(it.newest_checkpoint() or "") or "")
    (place / "code").mkdir()
    shutil.copy(trials.__file__, place / "code")
    described = {"framework": "tensorflow-2.15.1", "format": "saved_weights", **description}
    (place / "metadata.json").write_text(json.dumps(described))
    return place


def test_the_model_of_a_checkpoint_can_be_loaded(tmp_path: pathlib.Path) -> None:
    it: Any = run(ArrayTrial, tmp_path, 5)
    place = saved(it)
    x, _ = trials.rows(5, 3)
    model = Checkpoint.load_from_path(place)
    np.testing.assert_array_equal(model(x), it.controller._model(x))
    assert model.optimizer is not None
    (place / "code" / "keras_trials.py").write_text(
        (place / "code" / "keras_trials.py").read_text().replace("Dense(8,", "Dense(9,")
    )
    with pytest.raises(CheckFailedError, match="must build the same model"):
        keras.load_model_from_checkpoint_path(place)


def test_arrays_for_several_inputs_and_weights_are_taken(tmp_path: pathlib.Path) -> None:
    class Two(ArrayTrial):
        def build_model(self) -> Any:
            one, two = tf.keras.Input((6,)), tf.keras.Input((6,))
            model = self.context.wrap_model(
                tf.keras.Model([one, two], tf.keras.layers.Dense(1)(tf.keras.layers.Add()([one, two])))
            )
            model.compile("sgd", "mse")
            return model

        def build_training_data_loader(self) -> Any:
            x, y = trials.rows(1)
            return [x, -x], y, np.zeros(len(y), np.float32)

        def build_validation_data_loader(self) -> Any:
            x, y = trials.rows(1)
            return [x, -x], y

    assert run(Two, tmp_path, 5).numbers()["training", 5]["avg_metrics"]["loss"] == 0.0


def test_a_keras_trial_on_cached_data_ends_with_the_same_bits(tmp_path: pathlib.Path) -> None:
    class Cached(ArrayTrial):
        def load(self, decorate: Any, seed: int) -> Any:
            return decorate(lambda: tf.data.Dataset.from_tensor_slices(trials.rows(seed)))().batch(4)

        def build_training_data_loader(self) -> Any:
            return self.load(self.context.experimental.cache_train_dataset("k", "v1", shuffle=True), 1)

        def build_validation_data_loader(self) -> Any:
            return self.load(self.context.experimental.cache_validation_dataset("k", "v1"), 2)

    config = {
        "searcher": {"metric": "val_loss"},
        "data_layer": {"type": "shared_fs", "host_storage_path": str(tmp_path / "caches")},
    }
    straight = run(Cached, tmp_path, config=config)
    assert_same_end(straight, interrupted(Cached, tmp_path, [8], config=config), variables)


KERAS = """
import numpy as np
import tensorflow as tf
from determined.experimental import keras

context = keras.init({config}, context_dir=".")
model = context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))]))
model.compile("sgd", "mse")
x = np.ones((8, 2), np.float32)
model.fit(x, x[:, :1], validation_data=(x, x[:, :1]), verbose=0, epochs=100)
raise SystemExit("never reached on the cluster")
"""
NATIVE = {"hyperparameters": {"global_batch_size": 4}, "searcher": {"name": "single", "metric": "val_loss"}}


def test_a_keras_script_trains_on_the_cluster(tmp_path: pathlib.Path) -> None:
    _, controller = on_cluster(KERAS.format(config=NATIVE), tmp_path, "val_loss")
    first, _ = controller.train(1)
    last, _ = controller.train(20)
    assert last["loss"] < first["loss"] and set(controller.validate()) == {"val_loss"}
    place = tmp_path / "saved"
    place.mkdir()
    controller.save(str(place), {})
    described = json.loads((place / "load_data.json").read_text())
    described["experiment_config"]["internal"] = {"native": {"command": ["script.py"]}}
    (place / "load_data.json").write_text(json.dumps(described))
    (place / "code").mkdir()
    shutil.copy(tmp_path / "script.py", place / "code")
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(keras.load_model_from_checkpoint_path(place)(x), controller._model(x))
    with pytest.raises(InvalidExperimentException, match="validation_data"):
        on_cluster(KERAS.replace("validation_data=(x, x[:, :1]), ", "").format(config=NATIVE), tmp_path, "val_loss")
    with pytest.raises(InvalidExperimentException, match="before its compile"):
        on_cluster(KERAS.replace('model.compile("sgd", "mse")', "").format(config=NATIVE), tmp_path, "val_loss")


class CalmTrial(ArrayTrial):
    """No chance."""

    def build_model(self) -> Any:
        self.context.configure_fit(shuffle=False)
        model = self.context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(6,))]))
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.SGD(0.5, momentum=0.9), loss)
        return model

    def build_training_data_loader(self) -> Any:
        return trials.rows(1, 48)


class EagerTrial(ArrayTrial):
    def build_model(self) -> Any:
        model = super().build_model()
        model.run_eagerly = True
        return model


@pytest.mark.parametrize("kind", [ArrayTrial, SequenceTrial, EagerTrial])
def test_a_keras_trial_that_aggregates_ends_with_the_same_bits(kind: Any, tmp_path: pathlib.Path) -> None:
    aggregation.assert_interruptions_change_nothing(kind, tmp_path, CONFIG, variables)


def test_aggregated_gradients_of_keras_are_those_of_a_large_batch(tmp_path: pathlib.Path) -> None:
    aggregation.assert_small_batches_train_as_large_ones(CalmTrial, tmp_path, CONFIG, variables)


class Lengths(tf.keras.utils.Sequence):  # type: ignore[misc]
    """Texts, padded batch by batch."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        words = np.random.default_rng(index).integers(0, 20, size=(4 - index // 4, 3 + index))
        return words, (words.sum(1) % 2)[:, None]


class TextTrial(ArrayTrial):
    """A model that is built from its first batch."""

    def layers(self) -> list[Any]:
        layers = tf.keras.layers
        return [layers.Embedding(20, 4), layers.GlobalAveragePooling1D(), layers.Dense(2, activation="softmax")]

    def build_model(self) -> Any:
        model = self.context.wrap_model(tf.keras.Sequential(self.layers()))
        model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def build_training_data_loader(self) -> Any:
        return Lengths()

    build_validation_data_loader = build_training_data_loader


class DeclaredTextTrial(TextTrial):
    def layers(self) -> list[Any]:
        return [tf.keras.Input((None,)), *super().layers()]


@pytest.mark.parametrize("kind", [TextTrial, DeclaredTextTrial])
def test_batches_of_a_sequence_may_differ_in_every_axis(kind: Any, tmp_path: pathlib.Path) -> None:
    straight = run(kind, tmp_path)
    assert_same_end(straight, interrupted(kind, tmp_path, [8], config=CONFIG), variables)
    data = Lengths()
    x = [data[number] for number in range(5)]
    right = sum(int((straight.controller._model(words).numpy().argmax(1) == y[:, 0]).sum()) for words, y in x)
    metrics = straight.numbers()["validation", 20]
    assert metrics["val_accuracy"] == pytest.approx(right / sum(len(y) for _, y in x))


def test_a_model_without_a_shape_is_built_from_the_first_batch_of_a_sequence(tmp_path: pathlib.Path) -> None:
    class Shapeless(trials.SequenceTrial):
        def build_model(self) -> Any:
            model = self.context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(2, activation="softmax")]))
            model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
            return model

    straight = run(Shapeless, tmp_path)
    assert_same_end(straight, interrupted(Shapeless, tmp_path, [8], config=CONFIG), variables)


def test_what_a_model_fixes_of_the_shape_of_its_input_stays_fixed() -> None:
    two = [tf.keras.Input((6, None), name="b"), tf.keras.Input((3,), name="a")]
    model = tf.keras.Model(two, [tf.keras.layers.Flatten()(one) for one in two])
    first, second = np.zeros((4, 6, 5)), np.zeros((4, 3))
    y = {"c": np.zeros((4, 1)), "d": np.zeros((4, 7))}
    for x in ((first, second), {"a": second, "b": first}):
        shapes, targets = _data.open_shapes((x, y), model)
        found = [shapes["b"], shapes["a"]] if isinstance(x, dict) else list(shapes)
        assert [one.as_list() for one in found] == [[None, 6, None], [None, 3]]
        assert {name: one.as_list() for name, one in targets.items()} == {"c": [None, 1], "d": [None, None]}
    assert _data.open_shapes(first, None).as_list() == [None, None, None]


@pytest.mark.parametrize("numbers", [[[1.0, 2.0]], [1.0], "text", 3])
def test_data_that_is_no_array_is_refused_with_what_is_taken(numbers: Any) -> None:
    with pytest.raises(InvalidDataTypeException, match=r"make\(\) must return \(x, y\) or .* of NumPy arrays"):
        _data.batches_of((numbers, np.zeros(1)), 1, "make()")
