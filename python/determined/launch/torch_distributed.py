"""Starts a script with ``torchrun``, one process per slot, on all machines of the trial.

::

    entrypoint: python3 -m determined.launch.torch_distributed python3 train.py --epochs 3
    entrypoint: python3 -m determined.launch.torch_distributed --trial model_def:MyTrial

Options of ``torchrun`` may come first, followed by ``--``. The processes meet at a port that is free when they start.
With several processes, each line of their output is prefixed with ``[rank=N] `` (``_ranked.py``). Outside a cluster
there is one process.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
import time
from collections.abc import Sequence

from determined._info import ClusterInfo, get_cluster_info
from determined.core._connection import Master
from determined.launch import _ranked

_PATIENCE_SECONDS = 600.0
_USAGE = "python3 -m determined.launch.torch_distributed [options of torchrun --] (--trial MODULE:CLASS | SCRIPT ...)"


def command(words: Sequence[str], place: Sequence[str]) -> list[str]:
    """Returns the command for these arguments. ``place`` tells torchrun which machine this is.

    Raises:
        ValueError: the arguments name neither a trial nor a script.
    """
    script, options = split(words)
    if len(script) == 2 and script[0] == "--trial":
        script = ["-m", "determined.launch.trial", script[1]]
    elif script and script[0] in ("python", "python3", sys.executable):
        script = script[1:]
    elif script[:1] == ["--no-python"] and len(script) > 1:
        return _torchrun(place, options, script[1:])
    elif script and not script[0].startswith("-") and not script[0].endswith(".py"):
        return _torchrun(place, options, script)
    if not script or (script[0].startswith("-") and script[0] != "-m"):
        raise ValueError(f"{' '.join(words) or 'nothing'}: no script to start; usage: {_USAGE}")
    return _torchrun(place, options, [sys.executable, "-u", *script])


def _torchrun(place: Sequence[str], options: Sequence[str], worker: Sequence[str]) -> list[str]:
    """The command of torchrun, with workers whose lines are prefixed with their rank."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", *place, *options]
    return [*torchrun, "--no-python", sys.executable, "-I", "-S", _ranked.__file__, *worker]


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns what to start, and the options of the launcher, which end at ``--``."""
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[at + 1 :]), list(words[:at])


@dataclasses.dataclass(frozen=True)
class Meeting:
    """The machines of a trial, the number of this machine among them, and the port of the first one."""

    addresses: list[str]
    rank: int
    port: int


def meet(info: ClusterInfo) -> Meeting | None:
    """Waits until all machines of the trial have arrived, and returns where they meet. None if there is only one."""
    size, here = (int(os.environ.get(name) or 1) for name in ("DET_SIZE", "DET_LOCAL_SIZE"))
    if size == here:
        return None
    master = Master(info.master_url, info.session_token)
    try:
        path = f"/api/v1/allocations/{info.allocation_id}"
        told = info.machines()
        addresses, rank = told["addresses"], int(told["rank"])
        port = _free_port() if rank == 0 else _port_of_the_first(master, path)
        if rank == 0:
            master.post(f"{path}/rendezvous", {"addresses": [f"{addresses[0]}:{port}"]})
        return Meeting(addresses, rank, port)
    finally:
        master.close()


def place_of(info: ClusterInfo | None) -> list[str]:
    """The options of torchrun for the number of processes and the place of rendezvous."""
    here = int(os.environ.get("DET_LOCAL_SIZE") or 1) if info is not None else 1
    if info is not None and info.trial_info is None:
        here = max(1, len(info.slot_ids))  # a command is one process, whatever number of slots it has
    met = meet(info) if info is not None else None
    if met is None:
        return ["--nproc-per-node", str(here), "--master-addr", "127.0.0.1", "--master-port", str(_free_port())]
    words = ["--nproc-per-node", str(here), "--nnodes", str(len(met.addresses)), "--node-rank", str(met.rank)]
    return [*words, "--master-addr", met.addresses[0], "--master-port", str(met.port)]


def _port_of_the_first(master: Master, path: str) -> int:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = master.get(f"{path}/rendezvous", {"timeout_seconds": 5})["addresses"]
        if found:
            return int(str(found[0]).rpartition(":")[2])
    raise TimeoutError(f"the first machine did not publish its address within {_PATIENCE_SECONDS:.0f} s; see its log")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Replaces this process with ``torchrun``; returns only on failure."""
    try:
        words = command(sys.argv[1:], place_of(get_cluster_info()))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(words[0], words)


if __name__ == "__main__":
    sys.exit(main())
