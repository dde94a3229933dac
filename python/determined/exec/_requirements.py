"""The packages that a model definition asks for in its ``requirements.txt``.

Each content of such a file has a virtual environment of its own on top of the platform's: built once on a machine,
shared by all ranks, trials and experiments that want the same, kept under the hash of what it was made from. What
the platform's environment has in a fitting version is not installed again.

They are kept in ``DET_ENVIRONMENTS``, else in ``$XDG_CACHE_HOME/det/environments``. What was not used for thirty days
goes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import IO

from determined.errors import InvalidExperimentException

NAME = "requirements.txt"
_UNUSED_DAYS = 30
_ENTERED = "DET_ENVIRONMENT_ENTERED"
_REFERS_TO_FILES = re.compile(
    r"^\s*(-r|-c|-e|--requirement|--constraint|--editable|\.|/|file:)|@\s*(file:|\.)", re.MULTILINE
)


def enter(directory: str, command: list[str]) -> None:
    """Makes what ``requirements.txt`` of a model definition names importable in this process.

    Where a package is imported already that the environment has in another version (a warm worker's framework), the
    process becomes ``command``, arguments for a fresh interpreter; the call then does not return.
    """
    wanted = pathlib.Path(directory) / NAME
    if not wanted.is_file() or not _lines(wanted.read_text()):
        return
    home = _home(os.environ) / key(pathlib.Path(directory))
    packages = build(home, pathlib.Path(directory))
    os.environ["VIRTUAL_ENV"] = str(home)
    os.environ["PATH"] = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    if os.environ.get(_ENTERED) == str(home):
        return
    if shadowed := imported_from_elsewhere(packages):
        print(f"starting afresh, for {NAME} brings its own {', '.join(shadowed)}", flush=True)
        os.environ[_ENTERED] = str(home)
        sys.stderr.flush()
        os.execv(home / "bin" / "python", [str(home / "bin" / "python"), *command])
    sys.path.insert(1, str(packages))
    importlib.invalidate_caches()


def key(directory: pathlib.Path) -> str:
    """The name of an environment: the hash of all that it is made from."""
    text = (directory / NAME).read_text()
    digest = hashlib.sha256("\n".join(_lines(text)).encode())
    digest.update(f"{sys.version}\n{sys.prefix}\n".encode())
    for name, version in sorted((d.name, d.version) for d in importlib.metadata.distributions()):
        digest.update(f"{name}=={version}\n".encode())
    if _REFERS_TO_FILES.search(text):
        for path in sorted(directory.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(directory)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def build(home: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """Builds the environment where it is not yet there, and gives its site-packages.

    Raises:
        InvalidExperimentException: pip could not install what is asked for; its output is in the log.
    """
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    complete = home / "complete"
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.parent / f"{home.name}.lock"):
        if complete.exists():
            complete.touch()
            return packages
        print(f"building the environment of {NAME}, which later trials will share", flush=True)
        started = time.monotonic()
        shutil.rmtree(home, ignore_errors=True)  # Half of one, whose builder was killed.
        _remove_unused(home.parent)
        _run([sys.executable, "-m", "venv", "--without-pip", str(home)], directory)
        below = "".join(f"import site; site.addsitedir({entry!r})\n" for entry in site.getsitepackages())
        (packages / "platform.pth").write_text(below)
        _run(
            [
                *(sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"),
                *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
                *("--no-warn-script-location", "--requirement", NAME),
            ],
            directory,
        )
        complete.touch()
        print(f"the environment is ready after {time.monotonic() - started:.1f} s", flush=True)
    return packages


def imported_from_elsewhere(packages: pathlib.Path) -> list[str]:
    """What this process has imported already, and would import from the environment if it were fresh."""
    brought = set()
    for entry in packages.iterdir():
        name = entry.name.partition(".")[0]
        if name.isidentifier() and name in sys.modules and (entry.is_dir() or entry.suffix in (".py", ".so")):
            brought.add(name)
    return sorted(brought)


def _lines(text: str) -> list[str]:
    """The lines that say something."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def _home(environment: Mapping[str, str]) -> pathlib.Path:
    if given := environment.get("DET_ENVIRONMENTS"):
        return pathlib.Path(given)
    cache = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "det" / "environments"


def _run(command: list[str], directory: pathlib.Path) -> None:
    """Runs a command with its output in the trial's log."""
    # The package path of this process is not the environment's.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        errors = []
        for line in process.stdout:
            if "already satisfied" not in line:
                print(line, end="", flush=True)
            if line.startswith("ERROR:"):
                errors.append(line[len("ERROR:") :].strip())
    if process.returncode != 0:
        why = errors[-1] if errors else f"{os.path.basename(command[0])} ended with status {process.returncode}"
        raise InvalidExperimentException(f"{NAME} cannot be installed: {why}")


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[IO[str]]:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that builds the environment of {NAME}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _remove_unused(root: pathlib.Path) -> None:
    for complete in root.glob("*/complete"):
        if time.time() - complete.stat().st_mtime > _UNUSED_DAYS * 86400:
            shutil.rmtree(complete.parent, ignore_errors=True)
