"""Hooks of the training session: the base class for users' hooks, and the platform's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from determined._tensorflow._framework import tf, v1


class RunHook(tf.estimator.SessionRunHook):  # type: ignore[misc]
    """A session hook that is also notified of checkpoints and of the end of the trial.

    Pass it in ``TrainSpec(hooks=[...])``. All methods of ``tf.estimator.SessionRunHook`` may be overridden, too.

    Example::

        class Notes(determined.estimator.RunHook):
            def on_checkpoint_end(self, checkpoint_dir):
                with open(os.path.join(checkpoint_dir, "notes.txt"), "w") as file:
                    file.write("kept with the checkpoint")
    """

    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        """Called at the start of a process that resumes from a checkpoint, before the checkpoint is loaded."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called after a checkpoint is written, on the chief only. Files added to the directory are stored with it."""

    def on_trial_close(self) -> None:
        """Called when the process ends, whether the trial is completed, paused or failed."""


class ControlHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """The last of all hooks. Feeds the number of the batch, and passes stop requests to the trial."""

    def __init__(
        self, *, batch: Callable[[], int], placeholder: Any, start: Callable[[Any], None], stop: Callable[[], None]
    ) -> None:
        self._batch = batch
        self._placeholder = placeholder
        self._start = start
        self._stop = stop

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._start(session)

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(None, feed_dict={self._placeholder: self._batch()})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_context.stop_requested:
            run_context._stop_requested = False  # the workload is finished first
            self._stop()


class StopCatcher(v1.train.SessionRunHook):  # type: ignore[misc]
    """Passes stop requests of an evaluation to the trial, which stops after the evaluation has finished."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_context.stop_requested:
            run_context._stop_requested = False
            self._stop()
