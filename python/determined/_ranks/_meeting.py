"""Rendezvous of the ranks of a trial: rank 0 opens a store, and the master tells the others where."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import fcntl
import hashlib
import json
import logging
import os
import pathlib
import socket
import struct
import time
import urllib.parse
from collections.abc import Sequence
from typing import Any, Protocol

from determined._env import EnvContext

logger = logging.getLogger("determined")

DEFAULT_SECONDS = 600.0
_SAY_AGAIN_SECONDS = 5.0
_CONNECT_SECONDS = 5.0
_SIOCGIFADDR = 0x8915


class Finder(Protocol):
    """How the ranks find rank 0: usually through the trial's ``RankClient``."""

    def publish_rendezvous(self, addresses: Sequence[str]) -> None: ...
    def rendezvous(self, timeout_seconds: float) -> list[str]: ...
    def preempt_requested(self) -> bool: ...


class RanksMissing(Exception):
    """Not all ranks connected in time. The message names the missing ones."""


class PreemptedEarly(Exception):
    """The trial was preempted before all of its ranks connected."""


class ChiefLost(Exception):
    """Rank 0 ended before all ranks connected."""


@dataclasses.dataclass(frozen=True)
class Meeting:
    """The result of a rendezvous of all ranks."""

    store: Any
    """A ``torch.distributed.TCPStore``, served by rank 0's process."""
    host: str
    port: int
    machines: list[int]
    """For each rank, the number of its machine in the trial."""
    via: str
    """An address of rank 0's machine that every rank can reach."""

    def another_connection(self) -> Any:
        """Another connection to the same store, for another thread."""
        return _connect(self.host, self.port)


def meet(env: EnvContext, client: Finder, *, name: str, master: str, seconds: float) -> Meeting:
    """Returns when all ranks of the trial are connected.

    ``name`` distinguishes this run's store from others; ``master`` is the URL whose network the ranks use.

    Raises:
        RanksMissing: a rank did not connect within ``seconds``.
        PreemptedEarly, ChiefLost: the training cannot start.
    """
    if env.rank == 0:
        return _as_chief(env, client, name, master, seconds)
    return _as_other(env, client, name, seconds)


def _as_chief(env: EnvContext, client: Finder, name: str, master: str, seconds: float) -> Meeting:
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    outward = env.size > env.local_size
    listener = _listener(outward)
    port = int(listener.getsockname()[1])
    store = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach())
    store.set("name", name)
    hosts = own_addresses(master) if outward else ["127.0.0.1"]
    addresses = [_address(host, port) for host in hosts]
    waited_for = set(range(1, env.size))
    end = time.monotonic() + seconds
    say_again = 0.0
    pause = 0.005
    while waited_for:
        if time.monotonic() >= say_again:
            client.publish_rendezvous(addresses)  # repeated, because a master that was restarted has forgotten it
            say_again = time.monotonic() + _SAY_AGAIN_SECONDS
        if client.preempt_requested():
            store.set("go", json.dumps({"preempted": True}))
            _linger(store, env.size - 1 - len(waited_for))
            raise PreemptedEarly
        waited_for = {rank for rank in waited_for if not store.check([f"come/{rank}"])}
        if waited_for and time.monotonic() > end:
            text = _missing(waited_for, env.size, seconds)
            store.set("go", json.dumps({"error": text}))
            _linger(store, env.size - 1 - len(waited_for))
            raise RanksMissing(text)
        if waited_for:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
    come = [json.loads(store.get(f"come/{rank}")) for rank in range(1, env.size)]
    if strangers := [str(rank) for rank, c in enumerate(come, 1) if c.get("language", "python") != "python"]:
        text = (
            f"rank {', '.join(strangers)} runs C++ and rank 0 runs Python; all ranks of a trial must use the same "
            "language"
        )
        store.set("go", json.dumps({"error": text}))
        _linger(store, env.size - 1)
        raise RanksMissing(text)
    elsewhere = [c["host"] for c in come if not is_loopback(c["host"])]
    machines = [env.cross_rank, *(c["machine"] for c in come)]
    via = elsewhere[0] if elsewhere else "127.0.0.1"
    store.set("go", json.dumps({"machines": machines, "via": via}))
    return Meeting(store, "127.0.0.1", port, machines, via)


def _missing(ranks: set[int], size: int, seconds: float) -> str:
    names = ", ".join(str(rank) for rank in sorted(ranks))
    return (
        f"{'rank' if len(ranks) == 1 else 'ranks'} {names} of {size} did not connect within {seconds:g} s; see the "
        "agents' logs for why. If they only need more time, set DET_RENDEZVOUS_TIMEOUT (seconds) in "
        "environment.environment_variables"
    )


def _as_other(env: EnvContext, client: Finder, name: str, seconds: float) -> Meeting:
    end = time.monotonic() + seconds
    tried: dict[str, str] = {}
    while True:
        addresses = client.rendezvous(min(_SAY_AGAIN_SECONDS, max(0.1, end - time.monotonic())))
        for address in addresses:
            host, port, here = _parse(address)
            if not here:
                continue
            try:
                store = _reach(host, port, name)
            except OSError as error:
                tried[f"{host}:{port}"] = str(error)
                continue
            try:
                return _come(env, store, host, port, seconds)
            except ChiefLost:
                if client.preempt_requested():  # rank 0 ended because of it, while this rank was connecting
                    raise PreemptedEarly from None
                raise
        if client.preempt_requested():
            raise PreemptedEarly
        if time.monotonic() > end:
            if not tried:
                raise RanksMissing(_missing({0}, env.size, seconds))
            reasons = "; ".join(f"{address}: {why}" for address, why in tried.items())
            raise RanksMissing(
                f"rank {env.rank} cannot reach rank 0 ({reasons}); the machines of one pool must reach each other on "
                "all ports"
            )
        if addresses:
            time.sleep(0.2)


def _come(env: EnvContext, store: Any, host: str, port: int, seconds: float) -> Meeting:
    end = time.monotonic() + seconds + 60
    come = json.dumps({"host": host, "machine": env.cross_rank})
    while True:
        try:
            store.set(f"come/{env.rank}", come)
            store.wait(["go"], datetime.timedelta(seconds=5))
            go = json.loads(store.get("go"))
            break
        except RuntimeError as error:
            if not is_timeout(error):
                raise ChiefLost("rank 0 ended before all ranks connected") from None
            if time.monotonic() > end:
                raise RanksMissing(f"rank 0 sent nothing for more than {seconds:g} s") from None
    with contextlib.suppress(RuntimeError):
        store.add("left", 1)
    if go.get("preempted"):
        raise PreemptedEarly
    if "error" in go:
        raise ChiefLost(go["error"])
    return Meeting(store, host, port, go["machines"], go["via"])


def _linger(store: Any, count: int) -> None:
    """Waits until the other ranks have read why the rendezvous ends, because the store ends with this process."""
    end = time.monotonic() + 3
    while count > 0 and time.monotonic() < end and store.add("left", 0) < count:
        time.sleep(0.01)


def is_timeout(error: BaseException) -> bool:
    """Whether a call of the store failed only because of a timeout."""
    text = str(error).lower()
    return "timeout" in text or "timed out" in text


def _reach(host: str, port: int, name: str) -> Any:
    """Connects to the store of this run.

    Raises:
        OSError: there is no store, or it belongs to another run.
    """
    socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    try:
        store = _connect(host, port)
        found = store.get("name").decode()
    except RuntimeError as error:
        raise OSError(str(error).splitlines()[0]) from None
    if found != name:
        raise OSError("rank 0 of another trial answers there")
    return store


def _connect(host: str, port: int) -> Any:
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    seconds = datetime.timedelta(seconds=3 * _CONNECT_SECONDS)
    return TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=seconds)


def _listener(outward: bool) -> socket.socket:
    """A listening socket on a free port; on the loopback only if no other machine needs it."""
    if not outward:
        return socket.create_server(("127.0.0.1", 0), backlog=1024)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=True)
    return socket.create_server(("", 0), backlog=1024)


def own_addresses(master: str) -> list[str]:
    """The addresses of this machine on the network of the master, the one used to reach it first."""
    parts = urllib.parse.urlsplit(master)
    first = source_address(parts.hostname or "127.0.0.1")
    found = [first]
    if is_loopback(first):
        found += [address for _, address in _interfaces() if not is_loopback(address)]
    return found


def source_address(target: str) -> str:
    """The local address from which packets to ``target`` are sent."""
    family = socket.getaddrinfo(target, 9, type=socket.SOCK_DGRAM)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((target, 9))  # sends nothing
        return str(probe.getsockname()[0])


def interface_towards(target: str) -> str | None:
    """The network interface from which packets to ``target`` are sent."""
    source = source_address(target)
    if is_loopback(source):
        return "lo"
    by_address = {address: name for name, address in _interfaces()}
    return by_address.get(source)


def is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")


def _interfaces() -> list[tuple[str, str]]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                found.append((name, socket.inet_ntoa(fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24])))
    return found


def _machine() -> str:
    """Identifies this machine and its boot."""
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text() + os.readlink("/proc/self/ns/net")
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    return socket.gethostname()


def _address(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" + (f"@{_machine()}" if is_loopback(host) else "")


def _parse(address: str) -> tuple[str, int, bool]:
    """Parses host and port, and whether the address is valid only on this machine."""
    place, _, machine = address.partition("@")
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port), not machine or machine == _machine()
