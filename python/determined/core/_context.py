"""The entry point of the Core API."""

from __future__ import annotations

import contextlib
import enum
import json
import logging
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from determined import _arguments, _environment
from determined._bucket import bucket_of
from determined._info import ClusterInfo, get_trial_cluster_info
from determined._run._local import DirectoryStorage
from determined.common.api import errors
from determined.common.constants import SHARED_FS_CONTAINER_PATH
from determined.core._checkpoint import CheckpointContext, Storage
from determined.core._connection import Master
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext
from determined.core._train import EarlyExitReason, TrainContext
from determined.errors import InvalidHP
from determined.tensorboard._board import Board, storage_root

logger = logging.getLogger("determined")

_EXIT_GONE = 80


class TensorboardMode(enum.Enum):
    """What happens to TensorBoard's files in ``train.get_tensorboard_path()``."""

    AUTO = "AUTO"
    """Reported metrics are written there, and the chief's files are stored with the checkpoints at every report."""
    MANUAL = "MANUAL"
    """Files are stored when ``train.upload_tensorboard_files()`` is called."""


class Context:
    """The services of the platform for one process of a training script. A context manager, created by :func:`init`.

    ``train`` reports metrics, ``searcher`` says how far to train, ``checkpoint`` saves and loads checkpoints,
    ``preempt`` says when to stop, ``distributed`` connects the processes, ``profiler`` measures the machine, and
    ``info`` is :func:`determined.get_cluster_info`.
    """

    def __init__(
        self,
        *,
        distributed: DistributedContext,
        info: ClusterInfo | None,
        master: Master | None,
        storage: Storage,
        shared_root: pathlib.Path | None,
        preempt_mode: PreemptMode,
        tensorboard_mode: TensorboardMode,
        owns_distributed: bool,
    ) -> None:
        self.distributed = distributed
        self.info = info
        board = measurements = None
        manual = tensorboard_mode is TensorboardMode.MANUAL
        if info is not None:
            kept = shared_root or bucket_of(info.trial.experiment_config.get("checkpoint_storage") or {})
            board = Board(kept, info.cluster_id, info.trial.experiment_id, info.trial.trial_id)
            if not manual:
                measurements = Board(kept, info.cluster_id, info.trial.experiment_id, info.trial.trial_id, apart=True)
        self.train = TrainContext(distributed, info, master, board, manual=manual)
        self.preempt = PreemptContext(distributed, info, master, preempt_mode)
        self.searcher = SearcherContext(distributed, self.preempt, info, master)
        self.checkpoint = CheckpointContext(distributed, storage, info, master, shared_root)
        self.profiler = ProfilerContext(distributed, info, master, measurements)
        self._master = master
        self._owns_distributed = owns_distributed

    def __enter__(self) -> Context:
        self.preempt.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, InvalidHP):
                self._refuse(error)
            with _unless(error):
                self.checkpoint.wait()
        finally:
            self.close()
        if isinstance(error, errors.GoneException):
            logger.info("the master has ended this allocation")
            sys.exit(_EXIT_GONE)
        if isinstance(error, InvalidHP):
            sys.exit(0)

    def _refuse(self, error: InvalidHP) -> None:
        print(f"the trial refused its hyperparameters: {error}", file=sys.stderr)
        if self.distributed.rank == 0:
            self.train.report_early_exit(EarlyExitReason.INVALID_HP)

    def alert(self, title: str | None = None, description: str | None = None, level: int | str = "INFO") -> None:
        """Raises an alert. ``level`` is a level of :mod:`logging`.

        The alert is written to the trial's log, which can be filtered by level (``det trial logs --level WARNING``),
        and sent to the webhooks with a custom trigger that the experiment names in ``integrations.webhooks``.
        """
        text = ": ".join(word for word in (title, description) if word)
        number = logging.getLevelName(level.upper().removeprefix("LOG_LEVEL_")) if isinstance(level, str) else level
        if not text or not isinstance(number, int):
            raise ValueError(
                f"alert({title!r}, {description!r}, level={level!r}): it needs a title or a description, and a level "
                "of the logging module"
            )
        if logger.isEnabledFor(number) and logger.hasHandlers():
            logger.log(number, "alert: %s", text)
        else:  # the script has not set logging up
            print(f"{logging.getLevelName(number)}: determined: alert: {text}", file=sys.stderr)
        if self._master is None or self.info is None:
            return
        word = logging.getLevelName(number)
        known = word if word in ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL") else "UNSPECIFIED"
        data = {"title": title or "", "description": description or "", "level": f"LOG_LEVEL_{known}"}
        trial = self.info.trial
        body = {"experimentId": trial.experiment_id, "trialId": trial.trial_id, "data": data}
        try:
            self._master.post("/api/v1/webhooks/custom", body)
        except errors.GoneException:
            raise
        except errors.APIException as error:  # nobody's training ends because nobody could be told of it
            logger.warning("the alert was not sent: %s", error)

    def close(self) -> None:
        """Closes the connections."""
        self.preempt.close()
        self.profiler.off()
        self.train.close()
        if self._master is not None:
            self._master.close()
        if self._owns_distributed:
            self.distributed.close()


@contextlib.contextmanager
def _unless(error: BaseException | None) -> Iterator[None]:
    """Only logs what fails inside if there is an error already."""
    try:
        yield
    except Exception as other:
        if error is None:
            raise
        logger.warning("a checkpoint was not saved: %s", other)


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Creates the Core API context of this process, on a cluster or outside one.

    On a cluster, the context belongs to the trial that this process runs. Outside a cluster, metrics and progress are
    logged, the searcher requests a single length of 1, nothing is preempted, and checkpoints are stored in
    ``checkpoint_storage`` (a directory, or a ``checkpoint_storage`` section of a configuration), by default
    ``~/.local/share/determined/checkpoints``.

    ``distributed`` connects several processes; create it for example with
    ``DistributedContext.from_torch_distributed()``.

    If a script raises :class:`determined.InvalidHP` inside the context, the searcher is told, and the trial ends with
    status 0.

    Raises:
        ValueError: the trial has several slots, and ``distributed`` is not given; or a mode has an invalid value.
        TypeError: ``distributed`` is not a :class:`DistributedContext`, or ``checkpoint_storage`` is neither a
            directory nor a section.
    """
    preempt_mode = _arguments.choice(PreemptMode, preempt_mode, "preempt_mode")
    tensorboard_mode = _arguments.choice(TensorboardMode, tensorboard_mode, "tensorboard_mode")
    if not isinstance(distributed, (DistributedContext, type(None))):
        raise TypeError(
            f"distributed is {distributed!r}; it must be a determined.core.DistributedContext, such as "
            "DistributedContext.from_torch_distributed()"
        )
    info = get_trial_cluster_info()
    if distributed is None:
        slots = int(os.environ.get("DET_SIZE") or 1) if info is not None else 1
        if slots > 1:
            raise ValueError(
                f"the trial has {slots} slots; pass distributed=DistributedContext.from_torch_distributed() to "
                "core.init() and start the script with torchrun, one process per slot"
            )
    ranks = distributed or DistributedContext.single()
    storage, shared_root = _storage(checkpoint_storage, info, probe=ranks.rank == 0)
    master = Master(info.master_url, info.session_token) if info is not None else None
    if info is not None and master is not None and ranks.local_rank == 0:
        path = f"/api/v1/trials/{info.trial.trial_id}/environment"
        _environment.report_in_background(
            lambda document: master.post_text(path, f'{{"rank": {ranks.rank}, "environment": {document}}}')
        )
    return Context(
        distributed=ranks,
        info=info,
        master=master,
        storage=storage,
        shared_root=shared_root,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
        owns_distributed=distributed is None,
    )


def _storage(
    given: str | os.PathLike[str] | Mapping[str, Any] | None, info: ClusterInfo | None, *, probe: bool
) -> tuple[Storage, pathlib.Path | None]:
    """Returns the storage, and its directory that all machines can access, if there is one."""
    if given is None and info is not None:
        given = info.trial.experiment_config["checkpoint_storage"]
    if given is None:
        home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        given = os.path.join(home, "determined", "checkpoints")
    if not isinstance(given, Mapping):
        if not isinstance(given, (str, os.PathLike)):
            raise TypeError(f"checkpoint_storage is {given!r}; it must be a directory, or a checkpoint_storage section")
        if info is None:
            return DirectoryStorage(os.fspath(given)), pathlib.Path(given)
        given = {"type": "directory", "container_path": os.path.abspath(given)}
    return make_storage(given, probe=probe)


def make_storage(section: Mapping[str, Any], *, probe: bool) -> tuple[Storage, pathlib.Path | None]:
    """Returns the storage of a ``checkpoint_storage`` section, and its directory that all machines can access, if there
    is one.
    """
    from determined import _runtime

    storage: Any = _runtime.CheckpointStorage.from_config_json(json.dumps(section), SHARED_FS_CONTAINER_PATH)
    if probe:
        storage.probe()  # better now than after hours of training
    return storage, storage_root(section)
