"""The name of the program that starts a trial class in some releases.

``entrypoint: python3 -m determined.exec.harness m:C`` is ``determined.launch.torch_distributed --trial m:C``, with one
process per slot; a plain ``entrypoint: m:C`` accepts trials of every framework.
"""

from __future__ import annotations

import sys

from determined.launch import torch_distributed


def main() -> int:
    """Replaces this process with ``torchrun``; returns only on failure."""
    words = [word for word in sys.argv[1:] if word not in ("--trial", "--train-entrypoint")]
    if len(words) != 1:
        print("usage: python3 -m determined.exec.harness MODULE:CLASS", file=sys.stderr)
        return 2
    sys.argv[1:] = ["--", "--trial", words[0]]
    return torch_distributed.main()


if __name__ == "__main__":
    sys.exit(main())
