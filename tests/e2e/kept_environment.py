"""Virtual environments that tests build at the first time and keep for later ones."""

import fcntl
import os
import pathlib
import subprocess
import sys


def install(name, *requirements):
    """The programs of the environment ``name`` with what ``requirements`` name on PyPI."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    home = cache / "det" / name
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{home}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            pip = [str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *requirements], check=True)
            (home / "complete").touch()
    return home / "bin"
