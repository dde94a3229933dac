"""The callback that connects ``model.fit()`` of Keras 3, or of ``tf.keras``, with the platform."""

from __future__ import annotations

import logging
import pathlib
import pickle
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import keras

from determined._operations import Operations
from determined.core._context import Context
from determined.core._distributed import DistributedContext
from determined.keras import _training_state

logger = logging.getLogger("determined")

_WEIGHTS = "model_checkpoint" if keras.__version__.startswith("2.") else "model_checkpoint.weights.h5"
_STATE = "determined-training-state.pkl"


class DeterminedCallback(keras.callbacks.ProgbarLogger):  # type: ignore[misc]
    """Reports the metrics of ``model.fit()``, saves checkpoints, stops when the trial is preempted, and resumes.

    - Training metrics are reported at the end of each epoch, or after ``train_metrics_report_period`` batches;
      validations as they happen, with names that begin with ``val_``.
    - A checkpoint is saved after every ``checkpoint_epochs`` epochs, and when the training stops. With 0, only then.
    - After each epoch, ``fit()`` returns early if the trial is preempted. ``preempted`` is true then.
    - ``checkpoint`` is where to start: on the cluster, ``det.get_cluster_info().latest_checkpoint``. If it was saved
      with the same ``continue_id`` (on the cluster, the trial's id), the training continues at its epoch; otherwise
      only the weights are loaded. ``initial_epoch`` of ``fit()`` has no effect when the training continues.
    - With ``searcher.max_length``, in epochs or batches, the training stops when the searcher asks for no more.
    - A line after each epoch replaces Keras's progress bar.

    The state of other callbacks (``EarlyStopping``, ``ReduceLROnPlateau``, …) is part of the checkpoint. Do not combine
    it with ``BackupAndRestore`` or ``ModelCheckpoint``.

    Override :meth:`save_model` and :meth:`load_model` to change how the model is stored. By default, a checkpoint has
    the file ``model_checkpoint.weights.h5`` (``tf.keras``: ``model_checkpoint``) for ``model.load_weights()``.
    """

    def __init__(
        self,
        core_context: Context,
        checkpoint: str | None,
        continue_id: int | str,
        *,
        train_metrics_report_period: int | str = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        super().__init__()
        period = train_metrics_report_period
        if period != "epoch" and not (isinstance(period, int) and period > 0):
            raise ValueError(f"train_metrics_report_period is {period!r}; it must be 'epoch' or a number of batches")
        if not isinstance(checkpoint_epochs, int) or checkpoint_epochs < 0:
            raise ValueError(f"checkpoint_epochs is {checkpoint_epochs!r}; it must be a whole number, 0 or more")
        self.preempted = False
        self._core = core_context
        self._checkpoint = checkpoint
        self._continue_id = continue_id
        self._period = period
        self._checkpoint_epochs = checkpoint_epochs
        self._chief = core_context.distributed.rank == 0
        self._operations = Operations(core_context)
        self._steps = self._epochs = 0
        self._saved_after = -1
        self._trains = False
        self._validation: dict[str, Any] = {}
        self._others: list[Any] = []
        self._states_of_others: list[Any] | None = None

    # What Keras calls.

    def set_params(self, params: Any) -> None:
        self.params = params
        self.verbose = params.get("verbose", 1)

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        holder: Any = sys._getframe(1).f_locals.get("self")  # Keras's list of callbacks, which knows the others
        self._others = [one for one in getattr(holder, "callbacks", []) if one is not self]
        if self._others:
            holder.callbacks = [*self._others, self]  # what they do after an epoch belongs to its checkpoint

    def on_train_begin(self, logs: Any = None) -> None:
        self._trains = True
        if self._checkpoint is not None:
            with self._core.checkpoint.restore_path(self._checkpoint) as path:
                self._load(path)
            self._checkpoint = None  # fit() may be called again
        searched = self._operations.length is not None
        if searched and self._operations.current is None and not self._next_while_reached():
            self._epochs = self._last_epoch()
        _training_state.begin_at(self.model, self._epochs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._seen = 0
        if self._states_of_others is not None:
            for one, state in zip(self._others, self._states_of_others):
                vars(one).update(state)
            self._states_of_others = None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        pass

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        before, self._steps = self._steps, self._steps + batch + 1 - self._seen
        self._seen = batch + 1
        if self._chief and isinstance(self._period, int) and self._steps // self._period > before // self._period:
            self._core.train.report_training_metrics(self._steps, _plain(logs))

    def on_test_begin(self, logs: Any = None) -> None:
        pass

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        pass

    def on_test_end(self, logs: Any = None) -> None:
        if not self._trains:
            return
        self._validation = {f"val_{name.removeprefix('val_')}": value for name, value in _plain(logs).items()}
        if self._chief:
            metrics = {**self._validation, "epochs": self._epochs + 1}
            self._core.train.report_validation_metrics(self._steps, metrics)

    def on_predict_begin(self, logs: Any = None) -> None:
        pass

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        pass

    def on_predict_end(self, logs: Any = None) -> None:
        pass

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._epochs = epoch + 1
        plain = _plain(logs)
        training = {name: value for name, value in plain.items() if not name.startswith("val_")}
        self._validation.update({name: value for name, value in plain.items() if name.startswith("val_")})
        if self.verbose:
            words = ", ".join(f"{name} {value:.6g}" for name, value in plain.items() if isinstance(value, float))
            print(f"epoch {epoch + 1} of {self._last_epoch()}, batch {self._steps}: {words}", flush=True)
        if self._chief:
            if self._period == "epoch":
                self._core.train.report_training_metrics(self._steps, {**training, "epochs": self._epochs})
            self._report_progress()
        reached = self._operations.reached(self._done())
        self.preempted = self._core.preempt.should_preempt()
        if reached or self.preempted or (self._checkpoint_epochs and self._epochs % self._checkpoint_epochs == 0):
            self._save()
        if reached and not self._next_while_reached():
            self.preempted = self.preempted or self._core.preempt.should_preempt()
            self.model.stop_training = True
        if self.preempted:
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        if self._saved_after != self._epochs:
            self._save()
        self._trains = False

    # The searcher.

    def _last_epoch(self) -> int:
        return int(self.params.get("epochs") or 0)

    def _done(self) -> int:
        return int(self._operations.done(self._epochs, self._steps))

    def _next_while_reached(self) -> bool:
        known = ", ".join(sorted(self._validation)) or "none"
        missing = (
            f"the validation has the metrics {known}; pass validation_data to fit(), and name the metric val_<name>"
        )
        return self._operations.next_while_reached(self._done(), self._validation, missing)

    def _report_progress(self) -> None:
        if self._operations.current is not None:
            self._operations.current.report_progress(self._done())
        elif self._operations.length is None and self._last_epoch() > 0:
            self._core.train.report_progress(min(1.0, self._epochs / self._last_epoch()))

    # Checkpoints.

    def save_model(self, model: Any, path: str, distributed: DistributedContext) -> None:
        """Stores the model at ``path``. All ranks call it, each with a path of its own; the chief's is stored."""
        model.save_weights(path)

    def load_model(self, model: Any, path: str, distributed: DistributedContext) -> None:
        """Loads what :meth:`save_model` stored at ``path``."""
        model.load_weights(path)

    def _save(self) -> None:
        self._saved_after = self._epochs
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
            root = pathlib.Path(directory)
            self.save_model(self.model, str(root / _WEIGHTS), self._core.distributed)
            if not self._chief:
                return
            state = {
                "continue_id": self._continue_id,
                "epochs": self._epochs,
                "steps": self._steps,
                "validation": self._validation,
                "others": [_training_state.of_callback(one) for one in self._others],
                **_training_state.of_model(self.model),
            }
            (root / _STATE).write_bytes(pickle.dumps(state))
            self._core.checkpoint.upload(directory, {"steps_completed": self._steps, "epochs_completed": self._epochs})

    def _load(self, path: pathlib.Path) -> None:
        _training_state.build(self.model)
        self.load_model(self.model, str(path / _WEIGHTS), self._core.distributed)
        file = path / _STATE
        state = pickle.loads(file.read_bytes()) if file.is_file() else {}
        if state.get("continue_id") != self._continue_id:
            return
        self._epochs, self._steps, self._validation = state["epochs"], state["steps"], state["validation"]
        self._saved_after = self._epochs
        self._states_of_others = state["others"]
        _training_state.restore(self.model, state)


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """Keras's callback, with its files among those that the platform stores. ``log_dir`` has no effect."""

    def __init__(self, core_context: Context, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("log_dir", None)
        super().__init__(str(core_context.train.get_tensorboard_path()), *args[1:], **kwargs)


def _plain(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: float(value) if getattr(value, "ndim", 0) == 0 else value for name, value in (logs or {}).items()}
