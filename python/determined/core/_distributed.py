"""The processes of one trial, and how they exchange values."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import secrets
import socket
import time
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from determined._ranks import _distributed

_PATIENCE_SECONDS = 300.0
_made = 0  # how many contexts this process has made from torch.distributed
_stores: list[Any] = []


class DistributedContext(_distributed.DistributedContext):
    """Identifies this process among those of the trial, and exchanges values with the others.

    Rank 0 is the chief; the others connect to it over TCP. All ranks must make the same exchanges in the same order.
    Any value that can be pickled can be exchanged.

    ``chief_ip`` and ``port`` are the address at which the chief listens; a single process does not need them.
    ``secret`` authenticates the processes; by default it is derived from the task's token.

    Raises:
        ValueError: ranks and sizes are inconsistent.
        ConnectionError: the other processes did not connect within five minutes.
    """

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int,
        local_size: int,
        cross_rank: int,
        cross_size: int,
        chief_ip: str | None = None,
        port: int = 12360,
        secret: bytes | None = None,
    ) -> None:
        for name, value, limit in (
            ("rank", rank, size),
            ("local_rank", local_rank, local_size),
            ("cross_rank", cross_rank, cross_size),
        ):
            if not 0 <= value < limit:
                raise ValueError(f"{name} is {value}; it must be from 0 to {limit - 1}")
        super().__init__(
            rank=rank,
            size=size,
            local_rank=local_rank,
            local_size=local_size,
            cross_rank=cross_rank,
            cross_size=cross_size,
        )
        self._listener: Listener | None = None
        self._to_chief: Connection | None = None
        self._workers: dict[int, Connection] = {}
        if size > 1:
            key = secret or hashlib.sha256(os.environ.get("DET_SESSION_TOKEN", "determined").encode()).digest()
            self._meet(chief_ip or "127.0.0.1", port, key)
        self._machines: list[int] = self.allgather(cross_rank)

    @classmethod
    def from_torch_distributed(cls, chief_ip: str | None = None) -> DistributedContext:
        """For processes started by ``torchrun``, or by anything else that sets ``RANK``, ``WORLD_SIZE`` and so on.

        Works before and after ``torch.distributed.init_process_group()``.

        Raises:
            ValueError: an environment variable is missing.
        """
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        missing = [name for name in names if name not in os.environ]
        if missing:
            raise ValueError(f"{', '.join(missing)} not set; start the script with torchrun, one process per slot")
        rank, size, local_rank, local_size = (int(os.environ[name]) for name in names)
        host = chief_ip or os.environ.get("MASTER_ADDR", "127.0.0.1")
        cross_rank = int(os.environ.get("GROUP_RANK", rank // local_size))
        place = {"chief_ip": host, **_agree(rank, size, host)} if size > 1 else {}
        return cls(
            rank=rank,
            size=size,
            local_rank=local_rank,
            local_size=local_size,
            cross_rank=cross_rank,
            cross_size=max(1, size // local_size),
            **place,
        )

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: str | None = None) -> DistributedContext:
        """For processes that Horovod connected. ``hvd`` is its module (``horovod.torch``, …) after ``hvd.init()``.

        The caller has to install and start Horovod; the platform starts trials without it.

        Raises:
            ValueError: ``hvd`` is not such a module; or there are several machines, and neither ``chief_ip`` nor
                ``DET_CHIEF_IP`` is set.
        """
        names = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size", "broadcast_object")
        words = ", ".join(name for name in names if not callable(getattr(hvd, name, None)))
        if words:
            raise ValueError(
                f"from_horovod({hvd!r}): needs a module of Horovod after hvd.init(), with {words}; processes "
                "of torchrun use from_torch_distributed()"
            )
        rank, size, *others = (int(getattr(hvd, name)()) for name in names[:-1])
        host = chief_ip or os.environ.get("DET_CHIEF_IP") or ("127.0.0.1" if others[3] == 1 else "")
        if not host:
            raise ValueError(
                "the processes run on several machines; pass the address of rank 0: from_horovod(hvd, chief_ip=…)"
            )
        place: dict[str, Any] = {}
        if size > 1:
            offer = f"{_free_port(host)} {secrets.token_hex(16)}" if rank == 0 else None
            port, secret = str(hvd.broadcast_object(offer, root_rank=0)).split()
            place = {"chief_ip": host, "port": int(port), "secret": secret.encode()}
        local_rank, local_size, cross_rank, cross_size = others
        return cls(
            rank=rank,
            size=size,
            local_rank=local_rank,
            local_size=local_size,
            cross_rank=cross_rank,
            cross_size=cross_size,
            **place,
        )

    @classmethod
    def from_tf_config(cls) -> tuple[DistributedContext, Any]:
        """For a single TensorFlow process. Returns the context, and the strategy for the GPUs of this machine.

        Raises:
            NotImplementedError: ``TF_CONFIG`` names several workers.
            ModuleNotFoundError: TensorFlow is not installed.
        """
        workers = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}).get("worker", [])
        if len(workers) > 1:
            raise NotImplementedError(
                f"TF_CONFIG names {len(workers)} workers; make DistributedContext(rank=…, size=…, chief_ip=…, port=…, "
                "secret=…) for each, with a secret of your own"
            )
        tf: Any = importlib.import_module("tensorflow")
        several = len(tf.config.list_physical_devices("GPU")) > 1
        return cls.single(), tf.distribute.MirroredStrategy() if several else tf.distribute.get_strategy()

    @classmethod
    def from_deepspeed(cls, chief_ip: str | None = None) -> DistributedContext:
        """For processes started by DeepSpeed's launcher, which sets the same variables as ``torchrun``."""
        return cls.from_torch_distributed(chief_ip)

    @classmethod
    def single(cls) -> DistributedContext:
        """For a single process."""
        return cls(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)

    def _meet(self, host: str, port: int, key: bytes) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        if self.rank == 0:
            self._listener = Listener((host, port), backlog=self.size, authkey=key)
            while len(self._workers) < self.size - 1:
                with contextlib.suppress(OSError, EOFError):  # a stranger, or one that gave up
                    worker = self._listener.accept()
                    self._workers[worker.recv()] = worker
        else:
            while self._to_chief is None:
                try:
                    self._to_chief = Client((host, port), authkey=key)
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise ConnectionError(f"rank {self.rank} can't reach the chief at {host}:{port}") from error
                    time.sleep(0.05)
            self._to_chief.send(self.rank)

    def close(self) -> None:
        """Closes the connections; later exchanges of the other ranks fail."""
        for connection in (*self._workers.values(), *([self._to_chief] if self._to_chief else [])):
            connection.close()
        if self._listener is not None:
            self._listener.close()

    def gather(self, stuff: Any) -> list[Any] | None:
        """Returns one value of each rank in the order of ranks on the chief, and None on the others."""
        if self.size == 1:
            return [stuff]
        if self._to_chief is not None:
            self._to_chief.send(stuff)
            return None
        return [stuff, *(self._workers[rank].recv() for rank in range(1, self.size))]

    def broadcast(self, stuff: Any) -> Any:
        """Returns the chief's value on every rank."""
        if self.size == 1:
            return stuff
        if self._to_chief is not None:
            return self._to_chief.recv()
        for rank in range(1, self.size):
            self._workers[rank].send(stuff)
        return stuff

    def allgather(self, stuff: Any) -> list[Any]:
        """Returns one value of each rank in the order of ranks, on every rank."""
        return list(self.broadcast(self.gather(stuff)))

    def announce(self, stuff: Any) -> Any:
        return self.broadcast(stuff)

    def gather_local(self, stuff: Any) -> list[Any] | None:
        """One value of each rank of this machine on local rank 0, None on the others. All ranks must call."""
        values = self.allgather_local(stuff)
        return values if self.local_rank == 0 else None

    def allgather_local(self, stuff: Any) -> list[Any]:
        """Returns one value of each rank of this machine, on every rank of the machine. All ranks must call."""
        values = self.allgather(stuff)
        return [value for rank, value in enumerate(values) if self._machines[rank] == self.cross_rank]

    def broadcast_local(self, stuff: Any = None) -> Any:
        """Returns the value of this machine's local rank 0. All ranks must call."""
        return self.allgather_local(stuff)[0]


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def _agree(rank: int, size: int, host: str) -> dict[str, Any]:
    """Returns a free port of the chief and a secret, shared through torch's store."""
    global _made
    dist: Any = importlib.import_module("torch.distributed")
    _made += 1
    name = f"determined/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{_made}"
    store: Any
    if dist.is_initialized():
        store = dist.distributed_c10d._get_default_store()
    else:
        elastic = os.environ.get("TORCHELASTIC_USE_AGENT_STORE", "False") == "True"
        store = dist.TCPStore(
            host,
            int(os.environ["MASTER_PORT"]),
            size,
            rank == 0 and not elastic,
            wait_for_workers=False,
            multi_tenant=True,  # init_process_group() may use the port after this
        )
        _stores.append(store)  # rank 0 serves it; the others may not have read yet
    if rank == 0:
        store.set(name, f"{_free_port(host)} {secrets.token_hex(16)}")
    port, secret = bytes(store.get(name)).decode().split()
    return {"port": int(port), "secret": secret.encode()}
