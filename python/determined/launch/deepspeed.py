"""The original's launch layer for DeepSpeed, with one process per slot, which ``torchrun`` starts here.

::

    entrypoint: python3 -m determined.launch.deepspeed python3 train.py --deepspeed_config ds.json
    entrypoint: python3 -m determined.launch.deepspeed --trial model_def:MyTrial

``torchrun`` sets the variables that ``deepspeed.init_distributed()`` reads. DeepSpeed itself must be listed in the
model definition's ``requirements.txt``. Options of DeepSpeed's own launcher may come first, followed by ``--``; they
are ignored, with a line in the log.
"""

from __future__ import annotations

import sys

from determined.launch import torch_distributed


def main() -> int:
    """Replaces this process with ``torchrun``; returns only on failure."""
    script, unused = torch_distributed.split(sys.argv[1:])
    if unused:
        print(
            f"determined: ignored, because torchrun takes the place of DeepSpeed's launcher: {' '.join(unused)}",
            file=sys.stderr,
        )
    sys.argv[1:] = ["--", *script]
    return torch_distributed.main()


if __name__ == "__main__":
    sys.exit(main())
