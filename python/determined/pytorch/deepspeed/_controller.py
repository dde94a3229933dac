"""Drives a DeepSpeed trial."""

from __future__ import annotations

import operator
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from determined import _metrics
from determined._definition import _trial_files
from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext
from determined._trial import Snapshot
from determined.common import check
from determined.pytorch import _loading, _rng
from determined.pytorch._collect import Collector
from determined.pytorch._controller import PyTorchTrialController
from determined.pytorch._generation import Calls, _callbacks
from determined.pytorch._reducer import reduce_batches
from determined.pytorch._state import TRIAL_FILE
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._trial import DeepSpeedTrial


class _Feed:
    """The iterator that a trial takes its micro-batches from, which counts them."""

    def __init__(self, source: Iterator[Any], count_records: Callable[[Any], int], taken: int = 0) -> None:
        self._source = source
        self._count_records = count_records
        self.taken = taken
        self.records = 0

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Any:
        batch = next(self._source)
        self.taken += 1
        self.records += self._count_records(batch)
        return batch


class DeepSpeedTrialController(PyTorchTrialController):
    """Controls one trial in one process. The engines train and exchange gradients; the rest is as for PyTorch trials.

    All ranks save into a directory of their machine, which the chief then stores as the checkpoint.
    """

    _trial: DeepSpeedTrial  # type: ignore[assignment]
    _context: DeepSpeedTrialContext

    def __init__(
        self, trial: DeepSpeedTrial, context: DeepSpeedTrialContext, source: SourceSnapshot | None = None
    ) -> None:
        self._feed: _Feed | None = None
        self._taken = 0
        self._validation_batches = 0
        super().__init__(trial, context, source)  # type: ignore[arg-type]
        self._count_records = trial.get_batch_length

    def _prepare(self) -> Calls:
        name = type(self._trial).__name__
        check.gt(len(self._context.models), 0, f"{name} needs a call of context.wrap_model_engine() in its constructor")
        callbacks = _callbacks(self._trial)  # type: ignore[arg-type]
        return Calls(callbacks, self._trial.train_batch, self._trial.evaluate_batch, None)

    @classmethod
    def prepare_libraries(cls, env: EnvContext) -> None:
        """Connects DeepSpeed to the ranks, or to itself on one slot."""
        gpu = env.use_gpu and torch.cuda.is_available()
        if not gpu:
            os.environ.setdefault("DS_ACCELERATOR", "cpu")
        for variable, value in (("RANK", env.rank), ("LOCAL_RANK", env.local_rank), ("WORLD_SIZE", env.size)):
            os.environ[variable] = str(value)
        import torch.distributed as dist
        from torch.distributed import HashStore  # type: ignore[attr-defined]

        if not dist.is_initialized():  # one slot
            dist.init_process_group("nccl" if gpu else "gloo", store=HashStore(), rank=0, world_size=1)
        import deepspeed

        deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)

    def start(self, checkpoint: str | None, uuid: str | None, *, weights_only: bool) -> dict[str, Any] | None:
        rest = self._read(checkpoint) if checkpoint else {}
        loop = None if weights_only else rest.get("loop")
        self._trained = int(loop["state"]["batches_trained"]) if loop else 0
        self._workloads = int(rest.get("workloads", 0)) if loop else 0
        self._context._initial_batch = self._trained
        self._callbacks.call("on_trial_startup", self._trained, uuid)
        self._started = True
        self._build_loaders()
        self._share_out()
        if checkpoint:
            rest = _trial_files.of_this_rank(rest, self._context.distributed)
        if loop:
            # On another number of slots, each has another share of the same batches.
            same = rest.get("replicas") == self._context.mpu.data_parallel_world_size
            per_batch = self._context.num_micro_batches_per_slot
            self._taken = int(rest["taken"]) if same else self._trained * per_batch
        if checkpoint:
            self._callbacks.call("on_checkpoint_load_start", rest)
            self._context.loads_weights_only = weights_only
            self._trial.load(self._context, pathlib.Path(checkpoint))
            if not weights_only:
                self._callbacks.load_state_dict(rest["callbacks"])
        self._callbacks.call("on_training_start")
        if checkpoint and not weights_only:
            _rng.restore_saved(rest["rng_state"])
        return loop

    def _read(self, checkpoint: str) -> dict[str, Any]:
        path = pathlib.Path(checkpoint) / TRIAL_FILE
        if not path.is_file():
            raise FileNotFoundError(
                f"checkpoint {path.parent.name} has no {TRIAL_FILE}; it is not a checkpoint of a DeepSpeedTrial"
            )
        return dict(torch.load(path, map_location="cpu", weights_only=False))

    def _loader(self, method: str) -> Any:
        loader = getattr(self._trial, method)() if self._context.mpu.should_build_data_loader else None
        return None if loader is None else self._checked_loader(method, loader)

    def _share_out(self) -> None:
        context = self._context
        mpu, ranks = context.mpu, context.distributed
        micro_batches = _loading.UNKNOWN
        if self._training is not None:
            micro_batches = _loading.training_length(
                self._training, replicas=mpu.data_parallel_world_size, rank=mpu.data_parallel_rank
            )
        # Shares differ by a micro-batch, and some ranks read nothing; the epochs of all must be the same.
        micro_batches = min(ranks.allgather(micro_batches))
        per_batch = context.num_micro_batches_per_slot
        if micro_batches < per_batch:
            check.fail(f"{micro_batches} training micro-batches on a slot", f"at least the {per_batch} of one batch")
        self._epoch_length = self._chiefs_epoch_length = micro_batches // per_batch
        context.epoch_length = self._epoch_length
        found = 1 if self._validation is None else len(self._validation)
        if self._validation is not None:
            self._validation = _loading.validation_loader(
                self._validation,
                seed=context.env.trial_seed,
                replicas=mpu.data_parallel_world_size,
                rank=mpu.data_parallel_rank,
            )
            found //= mpu.data_parallel_world_size * (per_batch if context.use_pipeline_parallel else 1)
        counts = ranks.allgather(found if mpu.should_build_data_loader else None)
        self._validation_batches = max(1, min(count for count in counts if count is not None))

    def _train_batches(self, batches: int, collector: Collector) -> None:
        context, callbacks, length = self._context, self._callbacks, self._epoch_length
        if context.profiler is not None and not self._profiling:
            context.profiler.start()
            self._profiling = True
        feed = self._training_feed()
        if feed is not None:
            feed.records = 0
        for index in range(self._trained, self._trained + batches):
            epoch, in_epoch = divmod(index, length)
            context.begin_batch(index)
            if in_epoch == 0:
                callbacks.call("on_training_epoch_start", epoch)
            results = [self._trial.train_batch(feed, epoch, index) for _ in range(context.calls_per_batch)]
            if context.mpu.should_report_metrics:
                collector.add(_mean([self._checked(result) for result in results]), index)
            if in_epoch == length - 1:
                callbacks.call("on_training_epoch_end", epoch)
            self._trained = index + 1
            if self._profiling:
                context.profiler.step()
        if feed is not None:
            self._taken = feed.taken
        self.records = operator.index(feed.records) if feed is not None and self._counts_records() else 0

    def _counts_records(self) -> bool:
        """Whether this is the first of the ranks that read the same data."""
        mpu = self._context.mpu
        return mpu.should_report_metrics or mpu.data_parallel_world_size == self._context.distributed.size

    def _checked(self, result: Any) -> dict[str, Any]:
        if isinstance(result, torch.Tensor):
            return {"loss": result}
        if not isinstance(result, dict):
            method = f"{type(self._trial).__name__}.train_batch()"
            check.fail(f"a {type(result).__name__}", "a dict or a tensor", f"result of {method}")
        return dict(result)

    def _training_feed(self) -> _Feed | None:
        if self._feed is None and self._training is not None:
            mpu = self._context.mpu
            source = _loading.training_iterator(
                self._training,
                seed=self._context.env.trial_seed,
                start=self._taken,
                replicas=mpu.data_parallel_world_size,
                rank=mpu.data_parallel_rank,
            )
            self._feed = _Feed(source, self._count_records, self._taken)
        return self._feed

    def _of_all_ranks(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_rank = self._reported(rows)
        if self._context.env.experiment_config.average_training_metrics():
            return _metrics.mean_over_ranks(by_rank)
        return by_rank[0]

    def _reported(self, rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """The rows of those ranks that report."""
        reports = self._context.mpu.should_report_metrics
        found = [of for of in self._context.distributed.allgather(rows if reports else None) if of is not None]
        check.gt(len(found), 0, "should_report_metrics must be true on a rank")
        return found

    def _evaluate_batches(self) -> dict[str, Any]:
        context, callbacks = self._context, self._callbacks
        callbacks.call("on_validation_epoch_start")
        collector = Collector("evaluate_batch()")
        feed = None if self._validation is None else _Feed(iter(self._validation), self._count_records)
        for index in range(1 if context.env.test_mode else self._validation_batches):
            result = self._trial.evaluate_batch(feed, index)
            if context.mpu.should_report_metrics:
                self._check_validation_result(result, "evaluate_batch")
                collector.add(result, index)
        rows = collector.finish()
        self.records = operator.index(feed.records) if feed is not None and self._counts_records() else 0
        callbacks.call("on_validation_epoch_end", rows)
        together = [row for of_rank in self._reported(rows) for row in of_rank]
        return dict(reduce_batches(self._trial.evaluation_reducer(), together, DistributedContext()))

    def checkpoint_format(self) -> dict[str, Any]:
        return {**super().checkpoint_format(), "format": "deepspeed"}

    def snapshot(self, loop: dict[str, Any]) -> Snapshot:
        context, callbacks = self._context, self._callbacks
        context.distributed.note(f"saving after batch {self._trained}")
        with _rng.untouched():
            rest = {"format": 1, "loop": loop, "workloads": self._workloads, **self._part()}
            rest["other_ranks"] = (context.distributed.gather(None) or [])[1:]
            callbacks.call("on_checkpoint_save_start", rest)
            saved = self._save_engines()
            assert saved is not None
        return self._snapshot_of(rest, lambda directory, part: self._store_files(directory, saved, part))

    def contribute(self) -> None:
        with _rng.untouched():
            self._context.distributed.gather(self._part())
            self._save_engines()

    def _part(self) -> dict[str, Any]:
        """What each rank has in a checkpoint besides its engines."""
        return {
            "rng_state": _rng.state(),
            "callbacks": self._callbacks.state_dict(),
            "taken": self._taken,
            "replicas": self._context.mpu.data_parallel_world_size,
        }

    def _save_engines(self) -> pathlib.Path | None:
        """Saves the engines of all ranks; returns the directory with the files of all machines on the chief."""
        ranks = self._context.distributed
        own = tempfile.mkdtemp(prefix=".deepspeed-", dir=os.getcwd()) if ranks.local_rank == 0 else None
        place = pathlib.Path(ranks.broadcast_local(own))
        self._trial.save(self._context, place)
        ranks.allgather(None)  # all files are there
        sent = _files(place) if ranks.local_rank == 0 and ranks.cross_rank > 0 else {}
        received = ranks.gather(sent) if ranks.cross_size > 1 else None
        if ranks.rank == 0:
            for files in received or ():
                for name, content in files.items():
                    (place / name).parent.mkdir(parents=True, exist_ok=True)
                    (place / name).write_bytes(content)
            return place
        if ranks.local_rank == 0:
            shutil.rmtree(place, ignore_errors=True)
        return None

    def _store_files(self, directory: str, saved: pathlib.Path, rest: dict[str, Any]) -> None:
        try:
            for entry in sorted(saved.iterdir()):
                shutil.move(str(entry), directory)
        finally:
            shutil.rmtree(saved, ignore_errors=True)
        torch.save(rest, pathlib.Path(directory) / TRIAL_FILE)
        _trial_files.write_definition(
            pathlib.Path(directory), "DeepSpeedTrial", type(self._trial), self._context.env, self._source
        )

    def close(self) -> None:
        self._feed = None
        super().close()


def _mean(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The metrics of a batch: averages of what are numbers, and the last of anything else."""
    if len(rows) == 1:
        return rows[0]
    last = rows[-1]
    for row in rows:
        if row.keys() != last.keys():
            check.fail(
                f"the metrics {sorted(row, key=str)} and {sorted(last, key=str)} of two micro-batches",
                "the same metrics for every micro-batch",
            )
    return {name: _average([row[name] for row in rows]) for name in last}


def _average(values: list[Any]) -> Any:
    if all(isinstance(value, torch.Tensor) for value in values):
        return torch.stack([value.detach().float() for value in values]).mean(0)
    if all(isinstance(value, (int, float)) for value in values):
        return sum(values) / len(values)
    return values[-1]


def _files(place: pathlib.Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


DeepSpeedTrial.trial_controller_class = DeepSpeedTrialController
