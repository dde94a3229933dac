"""Hooks of the training session: the user's, with what the platform tells them, and the platform's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from determined._tensorflow._framework import tf, v1


class RunHook(tf.estimator.SessionRunHook):  # type: ignore[misc]
    """A session hook that hears of checkpoints and of the end of the trial, too.

    Pass it in ``TrainSpec(hooks=[...])``. All methods of ``tf.estimator.SessionRunHook`` may be overridden besides.

    Example::

        class Notes(determined.estimator.RunHook):
            def on_checkpoint_end(self, checkpoint_dir):
                with open(os.path.join(checkpoint_dir, "notes.txt"), "w") as file:
                    file.write("kept with the checkpoint")
    """

    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        """At the start of a process that goes on from a checkpoint, before anything of it is used."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """After every checkpoint is written, on the chief only. What is added to the directory is kept with it."""

    def on_trial_close(self) -> None:
        """When the process ends its work on the trial: done, paused or failed."""


class ControlHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """The last of all hooks: feeds the number of the batch, and turns the wish to stop into the trial's."""

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
    """As ``ControlHook``, for an evaluation: it goes on to its end, and the trial stops after it."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_context.stop_requested:
            run_context._stop_requested = False
            self._stop()
