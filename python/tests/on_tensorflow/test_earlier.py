"""The names that code of an earlier TensorFlow finds, and that they are gone after it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf

from determined._tensorflow import _earlier

legacy = tf.keras.optimizers.legacy
NEW = tf.keras.optimizers.Adam


@pytest.fixture
def earlier() -> Iterator[None]:
    with _earlier.taken(True):
        yield


@pytest.mark.usefixtures("earlier")
def test_optimizers_are_the_legacy_ones_under_every_name() -> None:
    from tensorflow import keras
    from tensorflow.keras import optimizers
    from tensorflow.keras.optimizers import Adam

    for module in (tf.keras.optimizers, tf.optimizers, keras.optimizers, optimizers):
        assert module.Adam is Adam and issubclass(Adam, legacy.Adam)
        assert module.Optimizer is legacy.Optimizer
    made = Adam(lr=0.5, decay=0.25)
    assert made.get_config()["decay"] == 0.25 and float(made.lr) == 0.5
    assert isinstance(tf.keras.optimizers.get("rmsprop"), legacy.RMSprop)
    again = tf.keras.optimizers.deserialize(tf.keras.optimizers.serialize(made))
    assert isinstance(again, legacy.Adam) and again.get_config() == made.get_config()


@pytest.mark.usefixtures("earlier")
def test_an_option_that_only_a_new_optimizer_has_gives_a_new_one() -> None:
    assert type(tf.keras.optimizers.Adam(0.1, weight_decay=0.1)) is NEW
    assert type(tf.keras.optimizers.AdamW(0.1)) is tf.keras.optimizers.AdamW

    class Own(tf.keras.optimizers.SGD):  # type: ignore[misc]
        pass

    assert isinstance(Own(lr=0.1, decay=0.1), legacy.SGD)


@pytest.mark.usefixtures("earlier")
@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (lambda: tf.train.AdamOptimizer(0.1, beta1=0.8), {"beta_1": 0.8}),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.7, use_nesterov=True), {"momentum": 0.7, "nesterov": True}),
        (lambda: tf.train.RMSPropOptimizer(0.1, decay=0.6), {"rho": 0.6, "decay": 0.0}),
        (lambda: tf.train.AdadeltaOptimizer(0.1, rho=0.4), {"rho": 0.4}),
        (lambda: tf.train.AdagradOptimizer(0.1), {"initial_accumulator_value": 0.1}),
    ],
)
def test_a_model_takes_an_optimizer_of_tensorflow_1(first: object, expected: dict[str, object]) -> None:
    config = tf.keras.optimizers.get(first()).get_config()  # type: ignore[operator]
    assert config["learning_rate"] == 0.1 and {name: config[name] for name in expected} == expected


@pytest.mark.usefixtures("earlier")
def test_rates_fall_as_they_did() -> None:
    rate = tf.keras.experimental.LinearCosineDecay(0.2, decay_steps=10, num_periods=1.0, alpha=0.0, beta=0.0)
    np.testing.assert_allclose([float(rate(step)) for step in (0, 5, 10, 20)], [0.2, 0.0, 0.0, 0.0], atol=1e-7)
    noisy = tf.keras.experimental.NoisyLinearCosineDecay(0.2, 10)
    assert float(noisy(3)) == float(noisy(3)) != float(noisy(4))


@pytest.mark.usefixtures("earlier")
def test_what_has_no_meaning_any_more_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), activation="softmax")])
    assert tf.keras.utils.multi_gpu_model(model, gpus=4) is model
    assert "resources.slots_per_trial" in caplog.text
    x = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(model.predict_classes(x), model.predict_proba(x).argmax(axis=1))
    options = tf.data.Options()
    options.experimental_optimization.autotune_buffers = True
    assert len(list(tf.data.Dataset.range(3).with_options(options))) == 3


@pytest.mark.usefixtures("earlier")
def test_a_name_that_nothing_takes_the_place_of_says_so() -> None:
    with pytest.raises(AttributeError, match=r"tf\.contrib\.slim was removed with TensorFlow 1.*estimator, framework"):
        _ = tf.contrib.slim
    with pytest.raises(AttributeError, match="module 'tensorflow' has no attribute 'nothing'"):
        _ = tf.nothing
    with pytest.raises(ImportError):
        import tensorflow.contrib.slim  # noqa: F401


def test_afterwards_everything_is_as_it_was() -> None:
    before = dict(vars(tf.keras.optimizers)), set(dir(tf)), set(dir(tf.keras.utils))
    with _earlier.taken(True):
        assert tf.placeholder is tf.compat.v1.placeholder and tf.keras.optimizers.Adam is not NEW
    with _earlier.taken(False):
        assert tf.keras.optimizers.Adam is NEW
    assert (dict(vars(tf.keras.optimizers)), set(dir(tf)), set(dir(tf.keras.utils))) == before
    assert not hasattr(tf, "placeholder") and not hasattr(tf.keras.utils, "multi_gpu_model")
    with pytest.raises(ValueError, match="decay is deprecated"):
        tf.keras.optimizers.Adam(0.1, decay=0.1)
