"""The original's launch layer for Horovod, with one process per slot, which ``torchrun`` starts here.

::

    entrypoint: python3 -m determined.launch.horovod --autohorovod --trial model_def:MyTrial
    entrypoint: python3 -m determined.launch.horovod python3 train.py --epochs 3

A trial class of any framework runs as with ``entrypoint: model_def:MyTrial``. Options of ``horovodrun`` may come first,
followed by ``--``; they are ignored, with a line in the log.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from determined.launch import torch_distributed


def script_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the script with its arguments, and the options of ``horovodrun`` before it."""
    script, options = torch_distributed.split(words)
    if not options and script[:1] == ["--autohorovod"]:
        script = script[1:]
    return script, [option for option in options if option != "--autohorovod"]


def main() -> int:
    """Replaces this process with ``torchrun``; returns only on failure."""
    script, unused = script_of(sys.argv[1:])
    if unused:
        print(
            f"determined: ignored, because torchrun takes the place of horovodrun: {' '.join(unused)}", file=sys.stderr
        )
    sys.argv[1:] = ["--", *script]
    return torch_distributed.main()


if __name__ == "__main__":
    sys.exit(main())
