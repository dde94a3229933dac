"""Drives a PyTorch trial: trains batches, validates, saves, restores."""

from __future__ import annotations

import logging
import operator
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from determined import _metrics
from determined._definition import _trial_files
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._trial import Snapshot, TrialController
from determined.common import check
from determined.pytorch import _device, _loading, _progress, _rng, _staging, _state
from determined.pytorch._collect import Collector, plain
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader
from determined.pytorch._generation import Calls, check_class, prepare
from determined.pytorch._reducer import reduce_batches
from determined.pytorch._trial import PyTorchTrial

logger = logging.getLogger("determined.pytorch")

_HOOKS_WITH_FILES = ("on_checkpoint_end", "on_checkpoint_write_end")
_MOVED_HYPERPARAMETERS = ("aggregation_frequency", "gradient_compression", "grad_updates_size_file")


class PyTorchTrialController(TrialController):
    """Controls one trial in one process."""

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext, source: SourceSnapshot | None = None) -> None:
        for name in _MOVED_HYPERPARAMETERS:
            check.not_in(name, context.env.hparams, f"{name} belongs in the section optimizations of the configuration")
        self._trial = trial
        self._context = context
        self._source = source
        self._trained = 0
        self._workloads = 0
        self._batches: Iterator[Any] | None = None
        self._training: Any = None
        self._validation: Any = None
        self._epoch_length = self._chiefs_epoch_length = 0
        self._chiefs_epoch_ahead = 0
        self._progress: _progress.Progress | None = None
        self._stage = _staging.Stage()
        self._started = False
        self._profiling = False
        self._calls: Calls = self._prepare()
        self._callbacks = self._calls.callbacks
        overridden = type(trial).get_batch_length is not PyTorchTrial.get_batch_length
        self._count_records: Callable[[Any], int] = self._batch_length if overridden else _device.data_length

    def _prepare(self) -> Calls:
        """Checks the trial, and returns how to call it."""
        check_class(type(self._trial))
        return prepare(self._trial, self._context, self._build_loaders)

    @classmethod
    def prepare_process(cls, env: EnvContext, threads: int) -> None:
        torch.set_num_threads(threads)
        # Two runs with one seed give the same numbers wherever PyTorch knows how; where it does not, it warns once.
        # A trial that prefers speed calls torch.use_deterministic_algorithms(False) in its constructor.
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        _rng.seed_all(env.trial_seed)
        cls.prepare_libraries(env)

    @classmethod
    def prepare_libraries(cls, env: EnvContext) -> None:
        """Prepares what the trial's class needs besides PyTorch, whoever sets seeds and threads."""

    def start(self, checkpoint: str | None, uuid: str | None, *, weights_only: bool) -> dict[str, Any] | None:
        # A callback may keep what it is given.
        mapped = not self._callbacks.has("on_checkpoint_load_start")
        state, rest = _state.read(checkpoint, mapped=mapped) if checkpoint else ({}, {})
        loop = None if weights_only else rest.get("loop")
        self._trained = int(loop["state"]["batches_trained"]) if loop else 0
        self._workloads = int(rest.get("workloads", 0)) if loop else 0
        self._context._initial_batch = self._trained
        self._callbacks.call("on_trial_startup", self._trained, uuid)
        self._started = True
        if self._training is None:
            self._build_loaders()
        self._share_out()
        self._find_position(rest.get("data") if loop else None)
        if checkpoint:
            self._callbacks.call("on_checkpoint_load_start", state)
            _state.load_models(self._context, state)
            if not weights_only:
                own = _trial_files.of_this_rank(rest, self._context.distributed)
                if "gradients" in own and _trial_files.slots_of(rest) != self._context.distributed.size:
                    of_all = [part["gradients"] for part in (rest, *rest.get("other_ranks", ()))]
                    own["gradients"] = _state.mean_gradients(of_all)
                self._restore(state, own)
        self._context.equalise()
        self._callbacks.call("on_training_start")
        if checkpoint and not weights_only and "rng_state" not in rest:
            logger.warning(
                "the checkpoint has no random number generators; results differ from those of an uninterrupted run"
            )
        elif checkpoint and not weights_only:
            _rng.restore_saved(_trial_files.of_this_rank(rest, self._context.distributed)["rng_state"])
        return loop

    def _restore(self, state: dict[str, Any], rest: dict[str, Any]) -> None:
        context = self._context
        _state.load_optimizers(context, state)
        if context.scaler is not None and "scaler_state_dict" in rest:
            context.scaler.load_state_dict(rest["scaler_state_dict"])
        elif context.scaler is not None:
            logger.warning("the checkpoint has no state of the gradient scaler; it starts from its initial state")
        elif "scaler_state_dict" in rest or "amp_state" in state:
            logger.warning(
                "the checkpoint was saved with mixed precision, which this trial does not use; the state of its "
                "scaler is ignored"
            )
        if "gradients" in rest:
            _state.restore_gradients(context, rest["gradients"])
        self._callbacks.load_state_dict(rest.get("callbacks", state["callbacks"]))

    def _build_loaders(self) -> None:
        self._training = self._loader("build_training_data_loader")
        self._validation = self._loader("build_validation_data_loader")

    def _loader(self, method: str) -> Any:
        return self._checked_loader(method, getattr(self._trial, method)())

    def _checked_loader(self, method: str, loader: Any) -> Any:
        trial = self._trial
        if not isinstance(loader, DataLoader) and self._context.reproducible_data:
            raise RuntimeError(
                f"{type(trial).__name__}.{method}() returned a {type(loader).__module__}.{type(loader).__name__}; "
                "it must be a determined.pytorch.DataLoader, or call "
                "context.experimental.disable_dataset_reproducibility_checks() in the constructor"
            )
        return loader

    def _share_out(self) -> None:
        context = self._context
        ranks = context.distributed
        self._epoch_length = _loading.training_length(self._training, replicas=ranks.size, rank=ranks.rank)
        context.epoch_length = self._epoch_length
        # Shares differ by a batch; ranks whose learning rates changed apart would have different weights ever after.
        self._chiefs_epoch_length = int(ranks.broadcast(self._epoch_length))
        seed = context.env.trial_seed
        if self._calls.evaluate_batch is not None:
            self._validation = _loading.validation_loader(
                self._validation, seed=seed, replicas=ranks.size, rank=ranks.rank
            )

    def _find_position(self, saved: dict[str, Any] | None) -> None:
        ranks = self._context.distributed
        self._progress = _progress.resumed(saved, self._training, trained=self._trained, replicas=ranks.size)
        if self._progress is not None:
            self._context.epoch_ahead = self._progress.epochs_ahead(self._epoch_length)
            self._chiefs_epoch_ahead = self._progress.epochs_ahead(self._chiefs_epoch_length)

    def train(self, batches: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        context, callbacks = self._context, self._callbacks
        ranks = context.distributed
        self._workloads += 1
        ranks.note(f"training the batches {self._trained} to {self._trained + batches - 1}")
        context.reducers.reset()
        for model in context.models:
            model.train()
        callbacks.call("on_train_step_start", self._workloads)
        collector = Collector("train_batch()")
        with torch.enable_grad():
            self._train_batches(batches, collector)
        rows = self._of_all_ranks(collector.finish())
        averages = _metrics.averages(rows)
        for name, value in context.reducers.reduce(context.distributed, training=True).items():
            averages[name] = plain(value)
        callbacks.call("on_train_step_end", self._workloads, averages)
        callbacks.call("on_training_workload_end", averages, rows)
        return averages, rows

    def _of_all_ranks(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The training metrics of each batch to report."""
        ranks = self._context.distributed
        if ranks.size > 1 and self._context.env.experiment_config.average_training_metrics():
            return _metrics.mean_over_ranks(ranks.allgather(rows))
        return rows

    def _train_batches(self, batches: int, collector: Collector) -> None:
        context, callbacks, length = self._context, self._callbacks, self._epoch_length
        train_batch, device = self._calls.train_batch, context.device
        count_records, records = self._count_records, 0
        if context.profiler is not None and not self._profiling:
            context.profiler.start()
            self._profiling = True
        source = self._training_batches()
        ahead, chiefs = context.epoch_ahead, self._chiefs_epoch_length
        for index in range(self._trained, self._trained + batches):
            epoch, in_epoch = divmod(index + ahead, length)
            batch = next(source)
            records += count_records(batch)
            if context.auto_to_device:
                batch = _device.to_device(batch, device)
            context.begin_batch(index)
            if in_epoch == 0:
                callbacks.call("on_training_epoch_start", epoch)
            result = train_batch(batch, epoch, index)
            context.end_batch()
            if isinstance(result, torch.Tensor):
                result = {"loss": result}
            elif not isinstance(result, dict):
                check.fail(
                    f"a {type(result).__name__}",
                    "a dict or a tensor",
                    f"result of {type(self._trial).__name__}.train_batch()",
                )
            if context.lr_schedulers and context.is_update_batch():
                for scheduler in context.lr_schedulers:
                    scheduler.after_update(
                        index + self._chiefs_epoch_ahead, aggregation=context.aggregation_frequency, epoch_length=chiefs
                    )
            collector.add(result, index)
            if in_epoch == length - 1:
                callbacks.call("on_training_epoch_end", epoch)
            self._trained = index + 1
            if self._profiling:
                context.profiler.step()
        self.records = operator.index(records)

    def _batch_length(self, batch: Any) -> int:
        length = self._trial.get_batch_length(batch)
        try:
            return operator.index(length)
        except TypeError:
            method = f"{type(self._trial).__name__}.get_batch_length()"
            check.fail(f"{length!r} (type {type(length).__name__})", "a whole number", f"result of {method}")
            raise

    def _training_batches(self) -> Iterator[Any]:
        if self._batches is None:
            ranks = self._context.distributed
            self._batches = _loading.training_iterator(
                self._training,
                seed=self._context.env.trial_seed,
                start=self._trained,
                replicas=ranks.size,
                rank=ranks.rank,
                first=self._progress.first if self._progress is not None else None,
            )
        return self._batches

    def validate(self) -> dict[str, Any]:
        context, callbacks = self._context, self._callbacks
        context.distributed.note(f"validating after batch {self._trained}")
        with _rng.untouched():
            context.reducers.reset()
            context.spread_buffers()
            for model in context.models:
                model.eval()
            callbacks.call("on_validation_step_start")
            callbacks.call("on_validation_start")
            with torch.no_grad():
                metrics = (
                    self._evaluate_batches() if self._calls.evaluate_batch is not None else self._evaluate_whole_set()
                )
            for name, value in context.reducers.reduce(context.distributed, training=False).items():
                metrics[name] = plain(value)
            callbacks.call("on_validation_step_end", metrics)
            callbacks.call("on_validation_end", metrics)
        return metrics

    def _evaluate_batches(self) -> dict[str, Any]:
        context, callbacks, evaluate = self._context, self._callbacks, self._calls.evaluate_batch
        assert evaluate is not None
        callbacks.call("on_validation_epoch_start")
        collector = Collector("evaluate_batch()")
        records = 0
        for index, batch in enumerate(self._validation):
            records += self._count_records(batch)
            if context.auto_to_device:
                batch = _device.to_device(batch, context.device)
            result = evaluate(batch, index)
            self._check_validation_result(result, "evaluate_batch")
            collector.add(result, index)
            if context.env.test_mode:
                break
        rows = collector.finish()
        self.records = operator.index(records)
        if not rows:
            check.fail("no validation batches", "at least one")
        callbacks.call("on_validation_epoch_end", rows)
        return dict(reduce_batches(self._trial.evaluation_reducer(), rows, context.distributed))

    def _evaluate_whole_set(self) -> dict[str, Any]:
        evaluate, ranks = self._calls.evaluate_full_dataset, self._context.distributed
        assert evaluate is not None
        if not ranks.is_chief:
            self.records = 0
            return dict(ranks.announce(None))
        loader = _loading.whole_validation_loader(self._validation, seed=self._context.env.trial_seed)
        result = evaluate(loader)
        self._check_validation_result(result, "evaluate_full_dataset")
        self.records = _loading.records_of(loader)
        return dict(ranks.announce({name: plain(value) for name, value in result.items()}))

    def _check_validation_result(self, result: Any, method: str) -> None:
        if not isinstance(result, dict):
            check.fail(
                f"a {type(result).__name__}",
                "a dict from metric name to value",
                f"result of {type(self._trial).__name__}.{method}()",
            )

    def checkpoint_format(self) -> dict[str, Any]:
        return {"framework": f"torch-{torch.__version__.split('+')[0]}", "format": "pickle"}

    def save(self, directory: str, loop: dict[str, Any]) -> None:
        self.snapshot(loop).write(directory)

    def snapshot(self, loop: dict[str, Any]) -> Snapshot:
        context, callbacks = self._context, self._callbacks
        context.distributed.note(f"saving after batch {self._trained}")
        with _rng.untouched():
            rest: dict[str, Any] = {
                "format": 1,
                "loop": loop,
                "workloads": self._workloads,
                "rng_state": _rng.state(),
                "gradients": _state.gradients(context),
            }
            if self._progress is not None:
                rest["data"] = self._progress.state(self._trained)
            if context.distributed.size > 1:
                rest["other_ranks"] = (context.distributed.gather(None) or [])[1:]
            if context.scaler is not None:
                rest["scaler_state_dict"] = context.scaler.state_dict()
            state = _state.user_state(context, callbacks.state_dict())
            callbacks.call("on_checkpoint_save_start", state)
        return self._snapshot_of((state, rest), lambda directory, parts: self._write_files(directory, *parts))

    def _snapshot_of(self, state: Any, write: Callable[[str, Any], None]) -> Snapshot:
        """A snapshot that ``write(directory, state)`` writes. Callbacks that get its files want the trial to wait."""

        def whole(directory: str) -> None:
            with _rng.untouched():
                write(directory, state)
                for hook in _HOOKS_WITH_FILES:
                    self._callbacks.call(hook, directory)

        if any(self._callbacks.has(hook) for hook in _HOOKS_WITH_FILES):
            return Snapshot(whole)

        def staged() -> Callable[[str], None] | None:
            copied = self._stage.copy_of(state)
            return None if copied is None else lambda directory: write(directory, copied)

        return Snapshot(whole, staged)

    def _write_files(self, directory: str, state: dict[str, Any], rest: dict[str, Any]) -> None:
        env = self._context.env
        storage = env.experiment_config.get("checkpoint_storage") or {}
        _state.write(directory, state, rest, both_names=storage.get("type") not in ("s3", "gcs"))
        _trial_files.write_definition(pathlib.Path(directory), "PyTorchTrial", type(self._trial), env, self._source)

    def contribute(self) -> None:
        with _rng.untouched():
            self._context.distributed.gather(
                {
                    "rng_state": _rng.state(),
                    "gradients": _state.gradients(self._context),
                    "callbacks": self._callbacks.state_dict(),
                }
            )

    def saves_in_background(self) -> bool:
        return not self._callbacks.has("on_checkpoint_upload_end")

    def stored(self, uuid: str) -> None:
        with _rng.untouched():
            self._callbacks.call("on_checkpoint_upload_end", uuid)

    def close(self) -> None:
        self._batches = None  # ends the loader's worker processes
        if self._profiling:
            self._profiling = False
            self._context.profiler.stop()
        if self._started:
            self._started = False
            self._callbacks.call("on_trial_shutdown")


PyTorchTrial.trial_controller_class = PyTorchTrialController
