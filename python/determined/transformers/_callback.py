"""The callback that connects a Trainer with the platform."""

from __future__ import annotations

import json
import logging
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import transformers
from transformers.trainer_utils import get_last_checkpoint

from determined import _loader_position, _metrics
from determined.core._context import Context
from determined.transformers import _trainer
from determined.transformers._operations import Operations

logger = logging.getLogger("determined")


class DetCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Reports the metrics of a Trainer, stores its checkpoints, stops it when it is preempted, and resumes it.

    - What the Trainer logs is reported: losses as training metrics, evaluations as validation metrics.
    - Each checkpoint that the Trainer saves is stored by the platform, as the directory ``checkpoint-<steps>``.
    - When the trial is preempted, the Trainer saves a checkpoint, and the process ends with status 0.
    - ``trainer.train()`` resumes from the latest checkpoint of the trial, with the numbers of a training that was never
      interrupted. With ``searcher.source_trial_id`` only the weights are loaded.
    - With ``searcher.max_length`` the Trainer validates and saves where the searcher asks, and stops when it asks for
      no more.

    ``args`` are the arguments of the Trainer. ``filter_metrics`` selects the metrics whose names contain one of these
    words; by default, all are reported. ``user_data`` is added to the metadata of each checkpoint, and stored in it as
    ``my_data.json``.

    Raises:
        ValueError: the Trainer would end before ``searcher.max_length``.
        FileNotFoundError: the latest checkpoint is not one of a Trainer.
    """

    def __init__(
        self,
        core_context: Context,
        args: transformers.TrainingArguments,
        filter_metrics: Sequence[str] | None = None,
        user_data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _metrics.to_json(user_data or {}, "user_data")
        self.core_context = core_context
        self.filter_metrics = filter_metrics
        self.user_data = user_data
        self.last_metrics: dict[str, Any] = {}
        self.last_checkpoint: str | None = None
        """The directory of the checkpoint from which ``trainer.train()`` resumes; None at the first run."""
        self._info = core_context.info
        self._chief = core_context.distributed.rank == 0
        self._operations = Operations(core_context)
        self._operations.check(args)
        self._trainer: Any = None
        self._weights: str | None = None
        self._data: _loader_position.SeededBatches | None = None
        self._trained_at = self._validated_at = -1
        self._validation: dict[str, Any] = {}
        self._preempted = self._completing = self._saves_later = False
        self.load_last_checkpoint(args)

    @property
    def current_op(self) -> Any:
        """The searcher's operation that the Trainer works on; None without ``searcher.max_length``."""
        return self._operations.current

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Downloads the latest checkpoint into ``args.output_dir``, and sets ``args.resume_from_checkpoint``."""
        latest = self._info.latest_checkpoint if self._info is not None else None
        if latest is None or self._info is None:
            return
        folder = f"{args.output_dir}-source" if self._info.warm_start else args.output_dir
        self.core_context.checkpoint.download(latest, folder)
        found = get_last_checkpoint(folder)
        if found is None:
            raise FileNotFoundError(
                f"checkpoint {latest} has no directory checkpoint-<steps>; it is not one that DetCallback stored"
            )
        if self._info.warm_start:
            self._weights = found
            return
        self.last_checkpoint = args.resume_from_checkpoint = found
        args.restore_callback_states_from_checkpoint = True  # the patience of EarlyStoppingCallback, for example

    def _begins(self, trainer: Any, given: Any) -> Any:
        """Called by ``Trainer.train``: returns the checkpoint to resume from."""
        self._trainer = trainer
        return self.last_checkpoint if given is None or given is True else given

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._trainer is None:
            raise RuntimeError("the training was not started by Trainer.train(), which DetCallback needs")
        self._data = _loader_position.seed_batches(kwargs.get("train_dataloader"), args.data_seed or args.seed)
        if self._weights is not None:
            self._trainer._load_from_checkpoint(self._weights)
        if self.last_checkpoint is not None:
            own = pathlib.Path(self.last_checkpoint) / self._state_name()
            saved = json.loads(own.read_text()) if own.is_file() else {}
            _trainer.restore_losses(self._trainer, saved)
            self.last_metrics = dict(saved.get("metrics") or {})
            self._validated_at = int(saved.get("validated_at", -1))
            self._trained_at = int(saved.get("trained_at", -1))
            self.last_checkpoint = None  # train() may be called again
        more = self._operations.begin()
        while more and self._operations.reached_by(state):
            if self._validated_at != state.global_step and self._trainer.eval_dataset is not None:
                self._trainer.evaluate()
            more = self._complete(state)
        if not more or 0 < state.max_steps <= state.global_step:
            self._end_if_preempted()
            raise _trainer.AlreadyTrained

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._data is not None:
            self._data.epoch = int(state.epoch or 0)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if float(state.epoch).is_integer() or control.should_training_stop:
            # What is due at the end of the epoch is due before the checkpoint.
            self._saves_later, control.should_save = control.should_save, False
            return
        self._check(state, control, ended=not self._operations.in_epochs)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save = control.should_save or self._saves_later
        self._saves_later = False
        self._check(state, control, ended=True)

    def _check(self, state: Any, control: Any, *, ended: bool) -> None:
        if ended and self._operations.reached_by(state):
            self._completing = control.should_save = True
            if self._validated_at != state.global_step and self._trainer.eval_dataset is not None:
                control.should_evaluate = True
        if self.core_context.preempt.should_preempt():
            self._preempted = control.should_save = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        logs = logs or {}
        step, group = state.global_step, group_of(logs)
        metrics = {name: value for name, value in logs.items() if self._wanted(name)}
        if group == "validation":
            self._validation = {**(self._validation if self._validated_at == step else {}), **metrics}
            self._validated_at = step
            self.last_metrics.update(logs)
            if self._chief:
                self.core_context.train.report_validation_metrics(step, self._validation)
        elif group != "training":
            if self._chief:
                self.core_context.train.report_metrics(group, step, metrics)
        elif self._trained_at != step:  # the Trainer's summary does not replace its last report
            self._trained_at = step
            self.last_metrics.update(logs)
            if self._chief:
                self.core_context.train.report_training_metrics(step, metrics)
        if self._chief and state.max_steps > 0:
            self._report_progress(state)

    def _report_progress(self, state: Any) -> None:
        if self._operations.current is not None:
            self._operations.current.report_progress(self._operations.done_by(state))
        elif self._operations.length is None:
            self.core_context.train.report_progress(min(1.0, state.global_step / state.max_steps))

    def _wanted(self, name: str) -> bool:
        return self.filter_metrics is None or any(word in name for word in self.filter_metrics)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        name = f"checkpoint-{state.global_step}"
        path = pathlib.Path(args.output_dir) / name
        more = {"metrics": self.last_metrics, "validated_at": self._validated_at, "trained_at": self._trained_at}
        _trainer.save_losses(self._trainer, path / self._state_name(), more)
        ranks = self.core_context.distributed
        if ranks.local_rank == 0 and self.user_data is not None:
            self._on_save_user_data(str(path))
        ranks.allgather(None)  # all ranks have written their files
        wanted = {name}
        if args.load_best_model_at_end and state.best_model_checkpoint:
            wanted.add(pathlib.Path(state.best_model_checkpoint).name)
        metadata = {**(self.user_data or {}), "steps_completed": state.global_step}
        if self._info is not None:
            metadata["trial_id"] = self._info.trial.trial_id
        self.core_context.checkpoint.upload(
            args.output_dir if ranks.local_rank == 0 else None,
            metadata,
            shard=ranks.size > 1,
            selector=lambda file: file.partition("/")[0] in wanted,
        )
        if self._completing:
            self._completing = False
            control.should_training_stop = not self._advance(state) or control.should_training_stop
        if self._preempted:
            logger.info(
                "the checkpoint of step %d is saved; the process ends until its trial continues", state.global_step
            )
            raise SystemExit(0)

    def _on_save_user_data(self, save_path: str) -> None:
        """Stores ``user_data`` in a checkpoint. Override it to store something else."""
        (pathlib.Path(save_path) / "my_data.json").write_text(json.dumps(self.user_data))

    def _advance(self, state: Any) -> bool:
        """Completes the operation, and gets the next; False if there is none left."""
        more = self._complete(state)
        while more and self._operations.reached_by(state):
            more = self._complete(state)
        if not more:
            self._end_if_preempted()
        return more

    def _end_if_preempted(self) -> None:
        """Waiting for the next operation ends when the trial is preempted; everything is saved then."""
        if self.core_context.preempt.should_preempt():
            self._preempted = True
            raise SystemExit(0)

    def _complete(self, state: Any) -> bool:
        name = self._operations.metric
        if name not in self.last_metrics:
            names = ", ".join(sorted(self.last_metrics)) or "nothing"
            raise KeyError(
                f"searcher.metric is {name!r}, but the Trainer logged {names}; evaluations are logged as eval_<name>, "
                "and need an eval_dataset"
            )
        if self._chief and self._operations.current is not None:
            self._operations.current.report_completed(self.last_metrics[name])
        return self._operations.next()

    def _state_name(self) -> str:
        return f"determined-{self.core_context.distributed.rank}.json"


def group_of(logs: Mapping[str, Any]) -> str:
    """The group of metrics that a Trainer's log belongs to."""
    if any(name.startswith("eval_") for name in logs):
        return "validation"
    measured = [name.removesuffix("_runtime") for name in logs if name.endswith("_runtime")]
    return measured[0] if measured and measured[0] != "train" else "training"


_trainer.install(DetCallback)
