"""The command line from Python: ``python -m determined.cli …`` is ``det …``."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from collections.abc import Sequence


def program() -> str:
    """The ``det`` beside this Python, or else the first on PATH.

    Raises:
        FileNotFoundError: there is none.
    """
    beside = pathlib.Path(sys.executable).with_name("det")
    found = str(beside) if beside.is_file() else shutil.which("det")
    if found is None:
        raise FileNotFoundError(
            f"there is no program det next to {sys.executable} or on PATH; install it with tools/build.sh"
        )
    return found


def main(args: Sequence[str] | None = None) -> None:
    """Becomes ``det`` with these arguments, or those of this process."""
    path = program()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [path, *(sys.argv[1:] if args is None else args)])
