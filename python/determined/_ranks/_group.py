"""Several processes as one trial: ``context.distributed`` over torch.distributed."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from typing import Any

from determined._env import EnvContext
from determined._ranks import _meeting, _watch
from determined._ranks._distributed import DistributedContext
from determined._runtime_api import RankClient

_FOR_EVER = datetime.timedelta(days=365)


class Ranks(DistributedContext):
    """The connected ranks of a trial.

    Values are exchanged over Gloo, in a separate group; the default group of torch.distributed is for gradients and for
    the user. Call it from the main thread only.
    """

    def __init__(self, env: EnvContext, meeting: _meeting.Meeting, watch: _watch.Watch) -> None:
        machines = meeting.machines
        mine = [rank for rank, machine in enumerate(machines) if machine == machines[env.rank]]
        super().__init__(
            rank=env.rank,
            size=env.size,
            local_rank=mine.index(env.rank),
            local_size=len(mine),
            cross_rank=sorted(set(machines)).index(machines[env.rank]),
            cross_size=len(set(machines)),
        )
        import torch.distributed as dist

        self.watch = watch
        self._meeting = meeting
        self._dist = dist
        self._values = dist.new_group(backend="gloo", timeout=_FOR_EVER)
        self._local: Any = self._values
        if self.cross_size > 1:
            for machine in sorted(set(machines)):
                members = [rank for rank, at in enumerate(machines) if at == machine]
                group = dist.new_group(members, backend="gloo", timeout=_FOR_EVER)
                if machine == machines[env.rank]:
                    self._local = group
        self._local_ranks = mine

    def allgather(self, value: Any) -> list[Any]:
        with self.watch.waiting("context.distributed.allgather()"):
            return self._allgather(value, self._values, self.size)

    def gather(self, value: Any) -> list[Any] | None:
        with self.watch.waiting("context.distributed.gather()"):
            return self._gather(value, self._values, self.size, 0)

    def broadcast(self, value: Any) -> Any:
        with self.watch.waiting("context.distributed.broadcast()"):
            return self._broadcast(value, self._values, 0)

    def allgather_local(self, value: Any) -> list[Any]:
        with self.watch.waiting("context.distributed.allgather_local()"):
            return self._allgather(value, self._local, self.local_size)

    def gather_local(self, value: Any) -> list[Any] | None:
        with self.watch.waiting("context.distributed.gather_local()"):
            return self._gather(value, self._local, self.local_size, self._local_ranks[0])

    def broadcast_local(self, value: Any) -> Any:
        with self.watch.waiting("context.distributed.broadcast_local()"):
            return self._broadcast(value, self._local, self._local_ranks[0])

    def announce(self, value: Any) -> Any:
        return self._broadcast(value, self._values, 0)

    def _allgather(self, value: Any, group: Any, count: int) -> list[Any]:
        found: list[Any] = [None] * count
        self._dist.all_gather_object(found, value, group=group)
        return found

    def _gather(self, value: Any, group: Any, count: int, root: int) -> list[Any] | None:
        found: list[Any] | None = [None] * count if self.rank == root else None
        self._dist.gather_object(value, found, dst=root, group=group)
        return found

    def _broadcast(self, value: Any, group: Any, root: int) -> Any:
        box = [value if self.rank == root else None]
        self._dist.broadcast_object_list(box, src=root, group=group)
        return value if self.rank == root else box[0]


@contextlib.contextmanager
def joined(env: EnvContext, client: RankClient) -> Iterator[DistributedContext]:
    """A context manager that connects the trial's ranks. A trial with one process needs no connection.

    Raises:
        RanksMissing, PreemptedEarly, ChiefLost: not all ranks connected.
        ValueError: a setting is invalid.
    """
    if env.size == 1:
        yield DistributedContext(rank=env.rank, size=1, local_rank=env.local_rank, local_size=1)
        return
    limit = _watch.limit_from(os.environ.get, "DET_COLLECTIVE_TIMEOUT", _watch.DEFAULT_SECONDS)
    patience = _watch.limit_from(os.environ.get, "DET_RENDEZVOUS_TIMEOUT", _meeting.DEFAULT_SECONDS)
    import torch.distributed as dist
    from torch.distributed import PrefixStore  # type: ignore[attr-defined]

    meeting = _meeting.meet(
        env,
        client,
        name=os.environ.get("DET_ALLOCATION_ID", ""),
        master=os.environ.get("DET_MASTER", "http://127.0.0.1"),
        seconds=patience,
    )
    watch = _watch.Watch(meeting, rank=env.rank, size=env.size, limit=limit)
    choose_interface(meeting.via)
    with watch.waiting("the connection of the ranks"):
        dist.init_process_group(
            backend(env),
            store=PrefixStore("group", meeting.store),
            rank=env.rank,
            world_size=env.size,
            timeout=patience_of_torch(limit),
        )
        ranks = Ranks(env, meeting, watch)
    yield ranks
    if watch.leave():
        with contextlib.suppress(RuntimeError):
            dist.destroy_process_group()


def backend(env: EnvContext) -> str:
    """The backend with which torch.distributed exchanges tensors."""
    import torch

    return "cpu:gloo,cuda:nccl" if env.use_gpu and torch.cuda.is_available() else "gloo"


def patience_of_torch(limit: float) -> datetime.timedelta:
    """Longer than the timeout of the watch, which reports first because it knows what each rank is doing."""
    return datetime.timedelta(seconds=2 * limit + 120)


def choose_interface(via: str) -> None:
    """Makes Gloo and NCCL use the network on which the ranks reached rank 0, unless the user chose another."""
    name = _meeting.interface_towards(via)
    if name is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        os.environ.setdefault("NCCL_SOCKET_IFNAME", name)
