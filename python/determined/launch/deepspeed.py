"""What entry points of the original's say to start DeepSpeed's processes, one for each slot; ``torchrun`` does it here.

::

    entrypoint: python3 -m determined.launch.deepspeed python3 train.py --deepspeed_config ds.json

``torchrun`` sets the variables that ``deepspeed.init_distributed()`` reads. DeepSpeed itself is the model definition's:
name it in ``requirements.txt``. Options of DeepSpeed's own launcher, which may come first, followed by ``--``, mean
nothing here and are named in the log. There is no ``DeepSpeedTrial``; with ``--trial`` a ``PyTorchTrial`` is trained.
"""

from __future__ import annotations

import sys

from determined.launch import torch_distributed


def main() -> int:
    """Becomes ``torchrun``; returns only where it cannot."""
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
