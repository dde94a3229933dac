"""Keras trials for the tests: small, and full of chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from determined.keras import TFKerasTrial, callbacks

EVENTS: list[tuple[str, Any]] = []


def rows(seed: int, count: int = 42) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, 6)).astype(np.float32)
    return x, (x @ np.arange(6) > 0).astype(np.int64)


class Recorder(callbacks.Callback):
    """Tells what it hears, and counts batches over interruptions."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0

    def on_train_begin(self, logs: Any = None) -> None:
        EVENTS.append(("begin", None))

    def on_train_end(self, logs: Any = None) -> None:
        EVENTS.append(("end", None))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        EVENTS.append(("epoch", epoch))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.batches += 1

    def on_train_workload_begin(self, total_batches_trained: int, batches_requested: Any, logs: Any) -> None:
        EVENTS.append(("workload", (total_batches_trained, batches_requested)))

    def on_train_workload_end(self, total_batches_trained: int, logs: Any) -> None:
        EVENTS.append(("trained", total_batches_trained))

    def on_test_end(self, logs: Any = None) -> None:
        EVENTS.append(("tested", set(logs)))

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        with open(f"{checkpoint_dir}/note.txt", "w") as file:
            file.write(str(self.batches))

    def get_state(self) -> Any:
        return self.batches

    def load_state(self, state: Any) -> None:
        EVENTS.append(("state", state))
        self.batches = state


class ArrayTrial(TFKerasTrial):
    """Dropout, batch normalisation and Adam, on arrays that are shuffled."""

    optimizer: Any = "adam"

    def build_model(self) -> Any:
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [
                layers.Dense(8, activation="relu", input_shape=(6,)),
                layers.BatchNormalization(),
                layers.GaussianNoise(0.1),
                layers.Dropout(0.5),
                layers.Dense(2),
            ]
        )
        model = self.context.wrap_model(model)
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(self.optimizer, loss, metrics=["accuracy"])
        return model

    def build_training_data_loader(self) -> Any:
        return rows(1)

    def build_validation_data_loader(self) -> Any:
        return rows(2)

    def keras_callbacks(self) -> list[Any]:
        return [Recorder()]


class DatasetTrial(ArrayTrial):
    """The same on a data set that shuffles and draws."""

    def data(self, seed: int) -> Any:
        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(rows(seed)))

    def build_training_data_loader(self) -> Any:
        data = self.data(1).shuffle(16).map(lambda x, y: (x + tf.random.uniform([6], maxval=0.1), y))
        return data.batch(self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> Any:
        return self.data(2).batch(4)


class Numbers(tf.keras.utils.Sequence):  # type: ignore[misc]
    def __init__(self, seed: int) -> None:
        self.x, self.y = rows(seed)

    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> Any:
        piece = slice(index * 6, index * 6 + 6)
        return self.x[piece] + np.random.normal(size=6).astype(np.float32), self.y[piece]

    def on_epoch_end(self) -> None:
        order = np.random.permutation(len(self.x))  # of how they are now: each epoch's follows from those before
        self.x, self.y = self.x[order], self.y[order]


class SequenceTrial(ArrayTrial):
    """The same on a sequence that draws from NumPy, with an optimizer of the older generation."""

    def build_model(self) -> Any:
        self.optimizer = tf.keras.optimizers.legacy.Adam(0.01)
        return super().build_model()

    def build_training_data_loader(self) -> Any:
        return Numbers(1)
