"""The ranks of a script that was started by ``torchrun``, or by anything else that sets ``RANK``, ``WORLD_SIZE`` and so
on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from determined._env import EnvContext
from determined._ranks import _group, _meeting, _watch
from determined._ranks._distributed import DistributedContext

_joined = 0  # how often this process has joined


@dataclasses.dataclass(frozen=True)
class Place:
    """The position of this process among the others."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    cross_rank: int = 0


def place(environment: Mapping[str, str], given: DistributedContext | None, slots: int | None) -> Place:
    """The position that the script gave, or else that of the environment. ``slots`` is the number of slots of the
    trial, if there is one.

    Raises:
        ValueError: the numbers of slots and of processes differ.
    """
    if given is not None:
        found = Place(given.rank, given.size, given.local_rank, given.local_size, given.cross_rank)
    elif "RANK" in environment and "WORLD_SIZE" in environment:
        rank, size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        local_rank = int(environment.get("LOCAL_RANK", rank))
        local_size = int(environment.get("LOCAL_WORLD_SIZE", size))
        found = Place(rank, size, local_rank, local_size, int(environment.get("GROUP_RANK", rank // local_size)))
    else:
        found = Place()
    if slots is not None and found.size != slots:
        raise ValueError(
            f"the trial has {slots} slot{'' if slots == 1 else 's'}, and the script {found.size} "
            f"process{'' if found.size == 1 else 'es'}; start it with `torchrun --nproc-per-node {slots}`"
        )
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in environment]
    if found.size > 1 and missing and not _is_initialized():
        raise ValueError(
            f"{' and '.join(missing)} not set, so the {found.size} processes cannot find each other; start the script "
            "with torchrun, or call torch.distributed.init_process_group() before"
        )
    return found


class Connection:
    """The connected processes. Call ``close`` at the end."""

    def __init__(self, env: EnvContext) -> None:
        """Connects torch.distributed, unless the script has already done so, and uses it for the rendezvous."""
        global _joined
        import torch.distributed as dist

        limit = _watch.limit_from(os.environ.get, "DET_COLLECTIVE_TIMEOUT", _watch.DEFAULT_SECONDS)
        patience = _watch.limit_from(os.environ.get, "DET_RENDEZVOUS_TIMEOUT", _meeting.DEFAULT_SECONDS)
        host = "127.0.0.1" if env.size == env.local_size else os.environ.get("MASTER_ADDR", "127.0.0.1")
        self._dist: Any = dist
        self._own = not dist.is_initialized()
        if self._own:
            _group.choose_interface(host)
            dist.init_process_group(
                _group.backend(env), rank=env.rank, world_size=env.size, timeout=_group.patience_of_torch(limit)
            )
        _joined += 1
        name = f"determined/trainer/{_joined}"
        store: Any = dist.distributed_c10d._get_default_store()
        meeting = _meeting.meet(
            env, _ThroughStore(store, name), name=name, master=f"http://{_bracketed(host)}", seconds=patience
        )
        watch = _watch.Watch(meeting, rank=env.rank, size=env.size, limit=limit)
        with watch.waiting("the connection of the ranks"):
            self.ranks = _group.Ranks(env, meeting, watch)

    def close(self, *, done: bool) -> None:
        """Ends all exchanges. ``done`` is whether this rank has completed its work; otherwise it has failed and
        reported so.
        """
        over = done and self.ranks.watch.leave()
        self.ranks.watch.rest()
        if over and self._own:
            with contextlib.suppress(RuntimeError):
                self._dist.destroy_process_group()


class _ThroughStore:
    """The rendezvous calls of a master, answered through the store of torch.distributed."""

    def __init__(self, store: Any, key: str) -> None:
        self._store = store
        self._key = key

    def publish_rendezvous(self, addresses: Sequence[str]) -> None:
        self._store.set(self._key, json.dumps(list(addresses)))

    def rendezvous(self, timeout_seconds: float) -> list[str]:
        try:
            self._store.wait([self._key], datetime.timedelta(seconds=timeout_seconds))
        except RuntimeError as error:
            if _meeting.is_timeout(error):
                return []
            raise
        return list(json.loads(self._store.get(self._key)))

    def preempt_requested(self) -> bool:
        return False  # noticed later, during training


def _is_initialized() -> bool:
    import torch.distributed as dist

    return dist.is_available() and dist.is_initialized()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
