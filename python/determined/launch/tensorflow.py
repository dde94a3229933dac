"""Starts a TensorFlow script with one process per machine, which uses all slots of the machine.

::

    entrypoint: python3 -m determined.launch.tensorflow python3 train.py --epochs 3

With several machines, ``TF_CONFIG`` lists them for ``tf.distribute.MultiWorkerMirroredStrategy``; with a single machine
it is not set. A trial class needs no launch layer: ``entrypoint: model_def:MyTrial``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from determined._info import ClusterInfo, get_cluster_info
from determined.launch import torch_distributed

_USAGE = "python3 -m determined.launch.tensorflow [--] SCRIPT ..."


def command(words: Sequence[str]) -> list[str]:
    """Returns the command for these arguments.

    Raises:
        ValueError: the arguments name no script.
    """
    script, options = torch_distributed.split(words)
    if script[:1] == ["--trial"]:
        raise ValueError(f"{' '.join(words)}: a trial class needs no launch layer; use entrypoint: {script[-1]}")
    if options or not script or script[0].startswith("-"):
        raise ValueError(f"{' '.join(words) or 'nothing'}: no script to start; usage: {_USAGE}")
    if script[0] in ("python", "python3"):
        return [sys.executable, *script[1:]]
    return [sys.executable, *script] if script[0].endswith(".py") else script


def tf_config(addresses: Sequence[str], rank: int, port: int) -> str:
    """``TF_CONFIG`` of machine ``rank``; each machine listens at the first one's port plus its rank."""
    workers = [f"{address}:{port + index}" for index, address in enumerate(addresses)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})


def place_of(info: ClusterInfo | None) -> str | None:
    """Returns the ``TF_CONFIG`` of this machine; None if there is only one."""
    met = torch_distributed.meet(info) if info is not None else None
    return tf_config(met.addresses, met.rank, met.port) if met is not None else None


def main() -> int:
    """Replaces this process with the script; returns only on failure."""
    try:
        words = command(sys.argv[1:])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    config = place_of(get_cluster_info())
    if config is not None:
        os.environ["TF_CONFIG"] = config
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        print(f"{words[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
