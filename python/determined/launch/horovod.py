"""What entry points of the original's say to start a process for each slot; ``torchrun`` does it here.

::

    entrypoint: python3 -m determined.launch.horovod --autohorovod --trial model_def:MyTrial
    entrypoint: python3 -m determined.launch.horovod python3 train.py --epochs 3

A trial class of any framework is run as ``entrypoint: model_def:MyTrial`` is. Options of ``horovodrun``, which may come
first, followed by ``--``, mean nothing here and are named in the log.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from determined.launch import torch_distributed


def script_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The script with its arguments, and the options of ``horovodrun`` before it."""
    script, options = torch_distributed.split(words)
    if not options and script[:1] == ["--autohorovod"]:
        script = script[1:]
    return script, [option for option in options if option != "--autohorovod"]


def main() -> int:
    """Becomes ``torchrun``; returns only where it cannot."""
    script, unused = script_of(sys.argv[1:])
    if unused:
        print(
            f"determined: ignored, because torchrun takes the place of horovodrun: {' '.join(unused)}", file=sys.stderr
        )
    sys.argv[1:] = ["--", *script]
    return torch_distributed.main()


if __name__ == "__main__":
    sys.exit(main())
