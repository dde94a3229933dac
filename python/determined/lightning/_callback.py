"""The callback that connects a Lightning trainer with the platform."""

from __future__ import annotations

import logging
import pathlib
import shutil
import tempfile
import warnings
from typing import Any

import torch

from determined import _loader_position
from determined._operations import Operations
from determined.core._context import Context
from determined.lightning import _training_state
from determined.lightning._library import pl

logger = logging.getLogger("determined")

_FILE = "trainer.ckpt"


class DetCallback(pl.callbacks.Checkpoint):  # type: ignore[misc]
    """Saves checkpoints of a Lightning trainer, stops it when the trial is preempted, and resumes it exactly.

    - A checkpoint is saved after every ``checkpoint_epochs`` epochs, when the trial is preempted, and at the end. With
      0, only then. ``trainer.ckpt`` in it is Lightning's.
    - When the trial is preempted, a checkpoint is saved after the batch, and the process ends with status 0.
    - Pass ``ckpt_path=callback.ckpt_path`` to ``fit()``; :class:`determined.lightning.Trainer` does it.
    - With ``searcher.max_length``, in epochs or batches (optimizer steps), the training stops when the searcher asks
      for no more. It is asked at the end of an epoch.

    The order of the training data depends on the trial's seed and the epoch alone, and so does what collators and
    transformations draw.
    """

    def __init__(self, core_context: Context, checkpoint_epochs: int = 1) -> None:
        super().__init__()
        if not isinstance(checkpoint_epochs, int) or checkpoint_epochs < 0:
            raise ValueError(f"checkpoint_epochs is {checkpoint_epochs!r}; it must be a whole number, 0 or more")
        self._core = core_context
        self._checkpoint_epochs = checkpoint_epochs
        self._info = core_context.info
        self._chief = core_context.distributed.rank == 0
        self._seed = self._info.trial.trial_seed if self._info is not None else 0
        self._operations = Operations(core_context)
        self._positions: list[_loader_position.Position] = []
        self._resumed: dict[str, Any] = {}
        self._generators: dict[str, Any] | None = None
        self._results: dict[str, Any] | None = None
        self._saved_at = -1
        self._ending = False
        self._values: dict[str, float] = {}
        self.ckpt_path: str | None = None
        """Lightning's checkpoint to resume from; None at the first run. A warm start loads the weights only."""
        self._weights: str | None = None
        latest = self._info.latest_checkpoint if self._info is not None else None
        if latest is not None and self._info is not None:
            self._directory = tempfile.mkdtemp(prefix="resumes-")
            place = core_context.distributed.broadcast_local(self._directory)
            core_context.checkpoint.download(latest, place)
            self._read(pathlib.Path(place), warm=self._info.warm_start)

    def _read(self, place: pathlib.Path, *, warm: bool) -> None:
        if warm:
            self._weights = str(place / _FILE)
            return
        self.ckpt_path = str(place / _FILE)
        own = place / _training_state.name(self._core.distributed.rank)
        if own.is_file():
            self._resumed = torch.load(own, weights_only=False)

    # What Lightning calls.

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        for one in trainer.loggers:
            if hasattr(one, "_core"):
                one._trainer = trainer
        if stage == "fit" and self._weights is not None:
            pl_module.load_state_dict(torch.load(self._weights, map_location="cpu", weights_only=False)["state_dict"])
            self._weights = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self.ckpt_path is not None and trainer.ckpt_path != self.ckpt_path:
            raise RuntimeError(
                "the trial resumes, but fit() was called without its checkpoint; pass ckpt_path=callback.ckpt_path, or "
                "use determined.lightning.Trainer"
            )
        self.ckpt_path = None
        resumed, self._resumed = self._resumed, {}
        self._values = dict(resumed.get("values", {}))
        self._saved_at = resumed.get("steps", -1)
        loop = trainer.fit_loop
        self._positions = [
            position
            for loader in loop._combined_loader.flattened
            if (position := _loader_position.control(loader, self._seed)) is not None
        ]
        for position in self._positions:
            position.begin(trainer.current_epoch, resumed.get("batches", 0))
        if self._positions:
            warnings.filterwarnings("ignore", ".*your dataloader is not resumable")  # it is
            iter(loop._data_fetcher)  # Lightning has begun to read in the order that it would have without us
        if resumed:
            self._generators = resumed["generators"]
            self._results = resumed["results"]
            _training_state.restore_metrics(pl_module, resumed["metrics"])
            if resumed["batches"] == 0:
                _training_state.step_plateaus(trainer, self._values)
        if self._operations.length is not None and not self._next_while_reached(trainer):
            trainer.should_stop = True

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._ending:
            self._end()
        self._restore_generators()
        for position in self._positions:
            position.begin(trainer.current_epoch, 0)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._restore_generators()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        loop = trainer.fit_loop.epoch_loop
        if self._results is not None:
            _training_state.add_results(loop._results, self._results)
            self._results = None
        if loop._num_ready_batches_reached() or loop._should_check_val_fx(trainer.fit_loop._data_fetcher):
            return  # what follows this batch is due before the checkpoint
        if loop._should_accumulate():
            return  # gradients are not part of Lightning's checkpoints
        if self._core.preempt.should_preempt():
            trainer._logger_connector.on_batch_end()
            trainer._logger_connector.update_train_step_metrics()  # Lightning would log after this
            self._save(trainer, pl_module, batch_idx + 1)
            self._end()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        needed = {self._operations.metric, *(config.monitor for config in trainer.lr_scheduler_configs)}
        self._values = {name: float(value) for name, value in trainer.callback_metrics.items() if name in needed}

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        epochs = trainer.current_epoch + 1
        self._report_progress(trainer, epochs)
        reached = self._operations.reached(self._done(trainer, epochs))
        preempted = self._core.preempt.should_preempt()
        if reached or preempted or (self._checkpoint_epochs and epochs % self._checkpoint_epochs == 0):
            self._save(trainer, pl_module, 0)
        if trainer.fit_loop.restarting:  # Lightning leaves it out after an epoch that it resumed
            trainer.fit_loop.epoch_loop._update_learning_rates("epoch", update_plateau_schedulers=True)
        if reached and not self._next_while_reached(trainer, epochs):
            trainer.should_stop = True
            preempted = preempted or self._core.preempt.should_preempt()
        self._ending = preempted  # when Lightning has logged the epoch

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        if self._resumed and self._operations.length is not None:  # nothing was left to train
            self._values, self._resumed = dict(self._resumed["values"]), {}
            self._next_while_reached(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self._saved_at != trainer.global_step:
            self._save(trainer, pl_module, 0)
        if self._operations.reached(self._done(trainer, trainer.current_epoch)):
            self._next_while_reached(trainer, trainer.current_epoch)

    # The searcher.

    def _done(self, trainer: Any, epochs: int) -> int:
        return int(self._operations.done(epochs, trainer.global_step))

    def _next_while_reached(self, trainer: Any, epochs: int | None = None) -> bool:
        done = self._done(trainer, trainer.current_epoch if epochs is None else epochs)
        known = ", ".join(sorted(trainer.callback_metrics)) or "nothing"
        missing = f"the validation logged {known}; log it in validation_step"
        return self._operations.next_while_reached(done, self._values, missing)

    def _report_progress(self, trainer: Any, epochs: int) -> None:
        if not self._chief:
            return
        if self._operations.current is not None:
            self._operations.current.report_progress(self._done(trainer, epochs))
        elif self._operations.length is None and (trainer.max_epochs or 0) > 0:
            self._core.train.report_progress(min(1.0, epochs / trainer.max_epochs))

    # Checkpoints.

    def _restore_generators(self) -> None:
        if self._generators is not None:
            _loader_position.restore_generators(self._generators)
            self._generators = None

    def _save(self, trainer: Any, pl_module: Any, batches: int) -> None:
        ranks = self._core.distributed
        self._saved_at = int(trainer.global_step)
        generators = _loader_position.generators(gpus=True)
        place = ranks.broadcast_local(tempfile.mkdtemp(prefix="checkpoint-") if ranks.local_rank == 0 else None)
        try:
            trainer.save_checkpoint(str(pathlib.Path(place) / _FILE))
            state = {
                "steps": self._saved_at,
                "batches": batches,
                "generators": generators,
                "values": self._values,
                "results": _training_state.results(trainer.fit_loop.epoch_loop._results) if batches else None,
                "metrics": _training_state.metrics(pl_module) if batches else {},
            }
            torch.save(state, pathlib.Path(place) / _training_state.name(ranks.rank))
            ranks.allgather(None)  # all ranks have written their files
            self._core.checkpoint.upload(
                place if ranks.local_rank == 0 else None, {"steps_completed": self._saved_at}, shard=ranks.size > 1
            )
        finally:
            if ranks.local_rank == 0:
                shutil.rmtree(place, ignore_errors=True)
        _loader_position.restore_generators(generators)

    def _end(self) -> None:
        logger.info("the checkpoint is saved; the process ends until its trial continues")
        raise SystemExit(0)
