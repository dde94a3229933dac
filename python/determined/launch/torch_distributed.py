"""Starts a script with ``torchrun``, one process for each slot, on all machines of the trial.

::

    entrypoint: python3 -m determined.launch.torch_distributed python3 train.py --epochs 3
    entrypoint: python3 -m determined.launch.torch_distributed --trial model_def:MyTrial

Options of ``torchrun`` may come first, followed by ``--``. The processes meet at a port that is free when they start.
Outside the cluster there is one process.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence

from determined._info import ClusterInfo, get_cluster_info
from determined.core._connection import Master

_PATIENCE_SECONDS = 600.0
_USAGE = "python3 -m determined.launch.torch_distributed [options of torchrun --] (--trial MODULE:CLASS | SCRIPT ...)"


def command(words: Sequence[str], place: Sequence[str]) -> list[str]:
    """What to start for these arguments; ``place`` says to torchrun which machine this is.

    Raises:
        ValueError: the arguments name neither a trial nor a script.
    """
    options: list[str] = []
    script = list(words)
    if "--" in script:
        at = script.index("--")
        options, script = script[:at], script[at + 1 :]
    if len(script) == 2 and script[0] == "--trial":
        script = ["-m", "determined.launch.trial", script[1]]
    elif script and script[0] in ("python", "python3", sys.executable):
        script = script[1:]
    elif script and not script[0].startswith("-") and not script[0].endswith(".py"):
        script = ["--no-python", *script]
    if not script or (script[0].startswith("-") and script[0] not in ("-m", "--no-python")):
        raise ValueError(f"{' '.join(words) or 'nothing'}: no script to start; usage: {_USAGE}")
    return [sys.executable, "-m", "torch.distributed.run", *place, *options, *script]


def place_of(info: ClusterInfo | None) -> list[str]:
    """Options of torchrun: how many processes here, and where all machines meet."""
    size, here = (int(os.environ.get(name) or 1) for name in ("DET_SIZE", "DET_LOCAL_SIZE"))
    if info is None or size == here:
        return ["--nproc-per-node", str(here if info is not None else 1), "--master-addr", "127.0.0.1", *_port()]
    master = Master(info.master_url, info.session_token)
    path = f"/api/v1/allocations/{info.allocation_id}"
    told = info.machines()
    addresses, rank = told["addresses"], int(told["rank"])
    if rank == 0:
        port = _port()
        master.post(f"{path}/rendezvous", {"addresses": [f"{addresses[0]}:{port[1]}"]})
    else:
        port = ["--master-port", _port_of_the_first(master, path)]
    master.close()
    words = ["--nproc-per-node", str(here), "--nnodes", str(len(addresses)), "--node-rank", str(rank)]
    return [*words, "--master-addr", addresses[0], *port]


def _port_of_the_first(master: Master, path: str) -> str:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = master.get(f"{path}/rendezvous", {"timeout_seconds": 5})["addresses"]
        if found:
            return str(found[0]).rpartition(":")[2]
    raise TimeoutError(f"the first machine did not say within {_PATIENCE_SECONDS:.0f} s where it is met")


def _port() -> list[str]:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return ["--master-port", str(probe.getsockname()[1])]


def main() -> int:
    """Becomes ``torchrun``; returns only where it cannot."""
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
