"""Keras callbacks that are notified of the platform's workloads, checkpoints and validations."""

from __future__ import annotations

import logging
from typing import Any

from determined._tensorflow import _board
from determined._tensorflow._framework import tf

logger = logging.getLogger("determined.keras")


class Callback(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """A Keras callback with additional events of the platform, and with a state that is saved in checkpoints."""

    def on_train_workload_begin(self, total_batches_trained: int, batches_requested: int | None, logs: Any) -> None:
        """Called before a workload: a number of batches, after which the trial reports metrics."""

    def on_train_workload_end(self, total_batches_trained: int, logs: Any) -> None:
        """Called after a workload. ``logs`` contains the metrics that are reported."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called after a checkpoint is written, on the chief only. Files added to the directory are stored with it."""

    def get_state(self) -> Any:
        """Returns the state of this callback to save in checkpoints. It must be picklable."""
        return None

    def load_state(self, state: Any) -> None:
        """Restores what ``get_state`` returned. Called after ``on_train_begin``."""


class _AtValidation(Callback):
    """Calls a Keras callback's ``on_epoch_end`` after each validation.

    Its state consists of the plain attributes of the wrapped callback.
    """

    inner: Any

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self.inner.set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        self.inner.on_train_begin(logs)
        self._validations = 0

    def on_test_end(self, logs: Any = None) -> None:
        named = {f"val_{name.removeprefix('val_')}": value for name, value in (logs or {}).items()}
        self.inner.on_epoch_end(self._validations, named)
        self._validations += 1

    def get_state(self) -> Any:
        plain = (bool, int, float, str, type(None))
        kept = {name: value for name, value in vars(self.inner).items() if isinstance(value, plain)}
        if (weights := getattr(self.inner, "best_weights", None)) is not None:
            kept["best_weights"] = weights
        for name in ("best", "wait"):
            if hasattr(self.inner, name):
                kept[name] = float(getattr(self.inner, name))
        return {"validations": self._validations, "inner": kept}

    def load_state(self, state: Any) -> None:
        self._validations = state["validations"]
        vars(self.inner).update(state["inner"])


class EarlyStopping(_AtValidation):
    """As ``tf.keras.callbacks.EarlyStopping``, but ``patience`` counts validations. Ends the trial."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.inner = tf.keras.callbacks.EarlyStopping(*args, **options)


class ReduceLROnPlateau(_AtValidation):
    """As ``tf.keras.callbacks.ReduceLROnPlateau``, but ``patience`` counts validations."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.inner = tf.keras.callbacks.ReduceLROnPlateau(*args, **options)


class TensorBoard(tf.keras.callbacks.TensorBoard):  # type: ignore[misc]
    """As ``tf.keras.callbacks.TensorBoard``, but ``log_dir`` is the trial's directory."""

    def __init__(self, *args: Any, **options: Any) -> None:
        if args or "log_dir" in options:
            logger.warning("the log_dir of the TensorBoard callback is ignored; the trial uses a directory of its own")
        options["log_dir"] = _board.directory()
        super().__init__(*args[1:], **options)


TFKerasTensorBoard = TensorBoard
