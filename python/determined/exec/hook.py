"""Makes the environment into which ``startup-hook.sh`` installs packages: ``python -m determined.exec.hook DIRECTORY``.

It lies on top of what the task imports anyway (for a trial, also TensorFlow and the packages of its
``requirements.txt``), belongs to this task alone, and is removed with it: as in a container, nothing that a hook
installs outlives the task. What is printed is a shell's ``export`` commands; everything else goes to the log.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shlex
import site
import sys
import venv
from collections.abc import Sequence

from determined.exec import _requirements

_PIP = """#!/bin/sh
exec {python} -m pip --disable-pip-version-check "$@"
"""


def main(home: pathlib.Path) -> int:
    """Makes the environment in an empty directory, and prints how a shell enters it."""
    with contextlib.redirect_stdout(sys.stderr):
        below: list[pathlib.Path] = []
        if os.environ.get("DET_TASK_TYPE") == "TRIAL":
            _, below = _requirements.build_all(pathlib.Path.cwd(), _requirements.config_of(os.environ))
        packages = make(home, below)
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(packages))))
    for name, value in {
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}",
        "PYTHONPATH": path,
        _requirements.HOOK_PACKAGES: str(packages),
    }.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def make(home: pathlib.Path, below: Sequence[pathlib.Path]) -> pathlib.Path:
    """Makes a virtual environment on top of the packages of this interpreter; returns its own packages' directory."""
    venv.EnvBuilder(symlinks=True).create(home)
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    lower = [os.path.realpath(entry) for entry in (*map(str, below), *site.getsitepackages())]
    (packages / "platform.pth").write_text("".join(f"import site; site.addsitedir({entry!r})\n" for entry in lower))
    python = home / "bin" / "python3"
    for name in ("pip", "pip3"):
        program = home / "bin" / name
        program.write_text(_PIP.format(python=shlex.quote(str(python))))
        program.chmod(0o755)
    return packages


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).absolute()))
