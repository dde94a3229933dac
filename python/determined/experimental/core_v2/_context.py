"""The Core API's context for a program that runs outside a cluster."""

from __future__ import annotations

import contextlib
import json
import pathlib
from types import TracebackType
from typing import Any

from determined import _environment
from determined._info import ClusterInfo
from determined.core import DistributedContext, PreemptMode, TensorboardMode
from determined.core._checkpoint import CheckpointContext, Storage
from determined.core._connection import Master
from determined.core._context import Context
from determined.core._preempt import PreemptContext
from determined.core._searcher import SearcherContext
from determined.experimental.core_v2._heartbeat import Exit, Heartbeat, describe
from determined.experimental.core_v2._log_shipping import LogShipper


class UnmanagedContext(Context):
    """Like :class:`determined.core.Context`, for an unmanaged trial without preemption and without a searcher.

    While it is open, it sends heartbeats and the program's output to the master.
    """

    def __init__(
        self,
        *,
        distributed: DistributedContext,
        info: ClusterInfo,
        storage: Storage,
        shared_root: pathlib.Path | None,
        preempt_mode: PreemptMode,
        tensorboard_mode: TensorboardMode,
        owns_distributed: bool,
    ) -> None:
        master = Master(info.master_url, info.session_token)
        super().__init__(
            distributed=distributed,
            info=info,
            master=master,
            storage=storage,
            shared_root=shared_root,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
            owns_distributed=owns_distributed,
        )
        self.preempt = PreemptContext(distributed, None, None, preempt_mode)
        self.searcher = SearcherContext(distributed, self.preempt, None, None)
        self.checkpoint = CheckpointContext(distributed, storage, info, master, shared_root, unmanaged=True)
        self._heartbeat = Heartbeat(info) if distributed.rank == 0 else None
        self._shipper = LogShipper(info, distributed.rank)
        self._exit = Exit()
        self._ended = False

    def __enter__(self) -> UnmanagedContext:
        super().__enter__()
        if self._heartbeat is not None:
            self._heartbeat.start()
        self._shipper.start()
        self._exit.watch()
        self._tell_environment()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._exit.failure = self._exit.failure or describe(error)
        super().__exit__(kind, error, where)

    def close(self) -> None:
        """Ends the trial: as completed, or as failed after an exception or a ``sys.exit`` other than 0."""
        if self._ended:
            return
        self._ended = True
        self._exit.unwatch()
        failure = self._exit.failure
        try:
            super().close()
        finally:
            self._shipper.close()
            if self._heartbeat is not None:
                self._heartbeat.end(failure)

    def _tell_environment(self) -> None:
        if self.distributed.local_rank != 0 or self.info is None:
            return
        master, rank = self._master, self.distributed.rank
        path = f"/api/v1/trials/{self.info.trial.trial_id}/environment"

        def tell(document: str) -> Any:
            with contextlib.suppress(ConnectionAbortedError):
                return master.post(path, {"rank": rank, "environment": json.loads(document)}) if master else None

        _environment.report_in_background(tell)
