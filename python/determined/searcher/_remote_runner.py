"""Runs a search method in a trial on a cluster."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from determined.common.api import errors
from determined.core import Context
from determined.experimental._determined import Determined
from determined.searcher._method import SearchMethod
from determined.searcher._runner import Config, Includes, SearchRunner, patiently

logger = logging.getLogger("determined.searcher")


class RemoteSearchRunner(SearchRunner):
    """Runs the search method in the trial whose script calls this, and stores its state in the trial's checkpoints.

    ::

        with det.core.init() as context:
            searcher.RemoteSearchRunner(method, context).run("custom.yaml", "model_dir")

    The trial belongs to a separate experiment, whose entrypoint is the script and whose searcher is ``single``; with
    ``resources.slots_per_trial: 0`` it needs no slot. It submits the searched experiment for its own owner. The search
    continues without a difference if the trial is killed, paused, or restarted on another machine.

    Raises:
        RuntimeError: this is not a trial on a cluster, or not its first process.
    """

    _poll_seconds = 2  # so that a pause is soon obeyed

    def __init__(self, search_method: SearchMethod, context: Context) -> None:
        if context.info is None:
            raise RuntimeError(
                "RemoteSearchRunner runs only inside a trial on a cluster; submit the script as the "
                "entrypoint of an experiment, or use LocalSearchRunner"
            )
        if context.distributed.rank != 0:
            raise RuntimeError(
                f"rank {context.distributed.rank} can't run a search; set slots_per_trial to 0 or 1, so that there is "
                "one process"
            )
        super().__init__(search_method, patiently(Determined, math.inf), patience=math.inf)
        self.context = context
        self.info = context.info
        self._checkpoint: str | None = None

    def run(
        self, exp_config: Config, model_dir: str | os.PathLike[str] | None = None, includes: Includes = None
    ) -> int:
        """Submits the experiment or resumes it, and runs it to its end. Returns its id.

        If the trial is preempted, this call ends the process with status 0.

        Raises:
            BadRequestException: the configuration, or an operation of the method, is invalid; the message says why.
            RuntimeError: another runner drives the experiment.
        """
        latest = self.info.latest_checkpoint
        if latest is not None and not self.info.warm_start:
            with self.context.checkpoint.restore_path(latest) as directory:
                found = self._read(directory)
            if found and self.state.experiment_id is not None:
                self._checkpoint = latest
                return self._go_on(self.state.experiment_id)
        self._mark = f"# searched by trial {self.info.trial.trial_id}"
        own = self.info.trial.experiment_id
        again = self.info.trial.trial_run_id > 1
        return self._begin(self._submit(exp_config, model_dir, includes, parent_id=own, again=again))

    def searched_experiment(self) -> Mapping[str, Any]:
        """Returns the experiment that the one of this trial was forked from."""
        own = self._experiment(self.info.trial.experiment_id)
        return self._experiment(int(own["forkedFrom"]))

    def _experiment(self, experiment_id: int) -> Mapping[str, Any]:
        path = f"/api/v1/experiments/{experiment_id}"
        found: Mapping[str, Any] = self._patiently(lambda: self._session.get(path))["experiment"]
        return found

    def drive(self, experiment_id: int) -> int:
        """Runs the search of an experiment that was submitted already, to its end. Returns its id.

        If the trial is preempted, this call ends the process with status 0.
        """
        latest = self.info.latest_checkpoint
        if latest is not None:
            with self.context.checkpoint.restore_path(latest) as directory:
                self._read(directory)
            self._checkpoint = latest
        self.state.experiment_id = experiment_id
        return self._drive(experiment_id)

    def _save(self) -> None:
        before = self._checkpoint
        metadata = {"steps_completed": self.state.last_event_id, "experiment_id": self.state.experiment_id}
        with self.context.checkpoint.store_path(metadata) as (directory, uuid):
            self._write(directory)
        self._checkpoint = uuid
        if before is not None:
            with contextlib.suppress(errors.BadRequestException, errors.NotFoundException):  # then it stays
                self.context.checkpoint.delete(before)

    def _is_worth_saving(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """A checkpoint for each report would be too many: the next progress report replaces the previous one."""
        return any("trialProgress" not in event for event in events)

    def _before_waiting(self) -> None:
        if self.context.preempt.should_preempt():
            logger.info("the search of experiment %s waits until this trial resumes", self.state.experiment_id)
            sys.exit(0)

    def _told(self, fraction: float) -> None:
        self.context.train.report_progress(fraction)
