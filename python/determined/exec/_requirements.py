"""The packages that a trial needs in addition to the platform's: TensorFlow, and those of its ``requirements.txt``.

Each distinct ``requirements.txt`` gets a virtual environment on top of the platform's. It is built once per machine,
shared by all ranks, trials and experiments with the same requirements, and named by the hash of its inputs. Packages
that the platform's environment has in a suitable version are not installed again. TensorFlow has an environment of its
own, which TensorFlow trials get automatically, below that of their ``requirements.txt`` (docs/decisions/0021).

Environments are stored in ``DET_ENVIRONMENTS``, by default ``$XDG_CACHE_HOME/det/environments``. Building one deletes
those that are not in use and that either were not used for thirty days or are useless, because the platform's
environment below them was changed or removed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from determined.errors import InvalidExperimentException
from determined.exec import _families

NAME = "requirements.txt"
TENSORFLOW = ("tensorflow-cpu==2.15.1", "tensorpack==0.11", "lmdb==3.0.0")
"""What TensorFlow trials need: the last TensorFlow with estimators, and the packages that the platform uses with it."""
_UNUSED_DAYS = 30
_ENTERED = "DET_ENVIRONMENT_ENTERED"
HOOK_PACKAGES = "DET_HOOK_PACKAGES"
"""Where ``startup-hook.sh`` installed packages for this task alone; see ``determined.exec.hook``."""
_NAMES_TENSORFLOW = re.compile(r"^tensorflow(-cpu|-gpu|-intel|\[[^]]*\])?\s*($|[=<>!~;@])")
_REFERS_TO_FILES = re.compile(
    r"^\s*(-r|-c|-e|--requirement|--constraint|--editable|\.|/|file:)|@\s*(file:|\.)", re.MULTILINE
)


@dataclasses.dataclass(frozen=True)
class Layer:
    """Packages that share one environment."""

    title: str
    """Its name in the log."""
    lines: tuple[str, ...]
    directory: pathlib.Path
    """The directory to which relative paths in the lines refer."""
    file: bool = False
    """Whether to install the ``requirements.txt`` of the directory in addition to the lines."""

    def key(self, below: Sequence[str] = ()) -> str:
        """The name of the environment: the hash of everything that it is built from."""
        text = (self.directory / NAME).read_text() if self.file else ""
        digest = hashlib.sha256("\n".join([*self.lines, *_lines(text)]).encode())
        digest.update("\n".join(_platform()).encode())
        for name in below:
            digest.update(f"below {name}\n".encode())
        if _REFERS_TO_FILES.search(text):
            for path in sorted(self.directory.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path.relative_to(self.directory)}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:32]


def enter(directory: str, command: list[str], config: Mapping[str, Any] | None = None) -> str | None:
    """Makes the packages that the trial of a model definition needs importable in this process.

    These are the packages of its ``requirements.txt`` and, if ``config`` names a TensorFlow trial, TensorFlow. If this
    process has already imported a package that the environment replaces (such as a warm worker's PyTorch), it executes
    a new interpreter with the arguments ``command``, and the call does not return.

    Returns the directory of the environment's programs, such as ``python3``; None if this process needs none.

    Raises:
        InvalidExperimentException: pip could not install the packages.
    """
    if os.environ.get(_ENTERED) == sys.prefix:
        return os.path.dirname(sys.executable)
    home, packages = build_all(pathlib.Path(directory), config)
    brought = [*_hook_packages(), *packages]
    if home is not None:
        os.environ["VIRTUAL_ENV"] = str(home)
        os.environ["PATH"] = f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    if any(imported_from_elsewhere(entry) for entry in brought):
        python = sys.executable if home is None else str(home / "bin" / "python")
        os.environ[_ENTERED] = sys.prefix if home is None else str(home)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(python, [python, *command])
    if home is None:
        return None
    sys.path[1:1] = [str(entry) for entry in brought]
    importlib.invalidate_caches()
    return str(home / "bin")


def build_all(
    directory: pathlib.Path, config: Mapping[str, Any] | None = None
) -> tuple[pathlib.Path | None, list[pathlib.Path]]:
    """Builds what a model definition needs on top of the platform's packages.

    Returns the topmost environment, or None if nothing is needed, and the directories of packages from top to bottom.

    Raises:
        InvalidExperimentException: pip could not install the packages.
    """
    home = None
    packages: list[pathlib.Path] = []
    keys: list[str] = []
    for layer in wanted(directory, config):
        home = place(layer, keys)
        keys.append(home.name)
        packages.insert(0, build(home, layer, packages))
    return home, packages


def _hook_packages() -> list[pathlib.Path]:
    given = os.environ.get(HOOK_PACKAGES)
    return [pathlib.Path(given)] if given and os.path.isdir(given) else []


def wanted(directory: pathlib.Path, config: Mapping[str, Any] | None = None) -> list[Layer]:
    """The layers of packages on top of the platform's, from bottom to top."""
    own = directory / NAME
    asked = _lines(own.read_text()) if own.is_file() else []
    family = list(TENSORFLOW) if config is not None and _families.needs_tensorflow(directory, config) else []
    if names_tensorflow(asked):  # The trial's own version takes precedence over the platform's.
        beside = tuple(line for line in family if not _NAMES_TENSORFLOW.match(line))
        return [Layer(NAME, beside, directory, file=True)]
    layers = []
    if family := [line for line in family if not _is_there(line)]:
        layers.append(Layer("TensorFlow trials", tuple(family), directory))
    if asked:
        layers.append(Layer(NAME, (), directory, file=True))
    return layers


def names_tensorflow(lines: Sequence[str]) -> bool:
    """Whether one of these lines of a ``requirements.txt`` names TensorFlow."""
    return any(_NAMES_TENSORFLOW.match(line) for line in lines)


def _is_there(line: str) -> bool:
    """Whether the platform's environment has a package; for TensorFlow, any version with estimators suffices."""
    name, _, version = line.partition("==")
    for candidate in ("tensorflow", "tensorflow-cpu", "tensorflow-gpu") if name == "tensorflow-cpu" else (name,):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.version(candidate)
            if found == version or (name == "tensorflow-cpu" and re.match(r"2\.(\d|1[0-5])\.", found)):
                return True
    return False


def config_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """The experiment configuration from the agent; empty if it is invalid, which is reported elsewhere."""
    try:
        config = json.loads(environment.get("DET_EXPERIMENT_CONFIG", ""))
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def key(directory: pathlib.Path) -> str:
    """The name of the environment of a model definition's ``requirements.txt``."""
    return Layer(NAME, (), directory, file=True).key()


def place(layer: Layer, below: Sequence[str] = ()) -> pathlib.Path:
    """Where the environment of a layer is, or will be."""
    return _home(os.environ) / layer.key(below)


def build(home: pathlib.Path, layer: Layer, below: Sequence[pathlib.Path] = ()) -> pathlib.Path:
    """Builds the environment if it does not exist, and returns its site-packages directory.

    Raises:
        InvalidExperimentException: pip could not install the packages; its output is in the log.
    """
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    complete = home / "complete"
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.parent / f"{home.name}.lock", layer.title):
        if complete.exists():
            complete.touch()
            _use(complete)
            return packages
        print(f"building the environment for {layer.title}; later trials reuse it", flush=True)
        started = time.monotonic()
        shutil.rmtree(home, ignore_errors=True)  # an incomplete one, whose builder was killed
        _remove_unused(home.parent)
        _run([sys.executable, "-m", "venv", "--without-pip", str(home)], layer)
        # Resolved, because a link through which this process was started may be removed.
        lower = [os.path.realpath(entry) for entry in (*map(str, below), *site.getsitepackages())]
        (packages / "platform.pth").write_text("".join(f"import site; site.addsitedir({entry!r})\n" for entry in lower))
        _run(
            [
                *(sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"),
                *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
                *("--no-warn-script-location", "--compile", *layer.lines),
                *(("--requirement", NAME) if layer.file else ()),
            ],
            layer,
        )
        (home / "platform").write_text("\n".join(_platform()))
        complete.touch()
        _use(complete)
        print(f"the environment was ready after {time.monotonic() - started:.1f} s", flush=True)
    return packages


def imported_from_elsewhere(packages: pathlib.Path) -> list[str]:
    """The modules that this process has imported, and that a new process would import from the environment."""
    brought = set()
    for entry in packages.iterdir():
        name = entry.name.partition(".")[0]
        if name.isidentifier() and name in sys.modules and (entry.is_dir() or entry.suffix in (".py", ".so")):
            brought.add(name)
    return sorted(brought)


def _lines(text: str) -> list[str]:
    """The lines without comments and empty lines."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def _home(environment: Mapping[str, str]) -> pathlib.Path:
    if given := environment.get("DET_ENVIRONMENTS"):
        return pathlib.Path(given)
    cache = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "det" / "environments"


def _run(command: list[str], layer: Layer) -> None:
    """Runs a command with its output in the trial's log."""
    # The module search path of this process must not affect pip in the environment.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with subprocess.Popen(
        command,
        cwd=layer.directory,
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
        raise InvalidExperimentException(f"{layer.title} cannot be installed: {why}")


@contextlib.contextmanager
def _locked(path: pathlib.Path, title: str) -> Iterator[IO[str]]:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process to build the environment for {title}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _platform() -> tuple[str, str]:
    """The platform's environment, on which all others are built: its path, and the hash of its packages."""
    digest = hashlib.sha256(sys.version.encode())
    # Without those of a hook, which another task does not have.
    path = [entry for entry in sys.path if pathlib.Path(entry) not in _hook_packages()]
    for name, version in sorted((d.name, d.version) for d in importlib.metadata.distributions(path=path)):
        digest.update(f"\n{name}=={version}".encode())
    return os.path.realpath(sys.prefix), digest.hexdigest()


def _use(complete: pathlib.Path) -> None:
    """Marks an environment as used by this process until it ends. The open descriptor survives an exec."""
    descriptor = os.open(complete, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def _remove_unused(root: pathlib.Path) -> None:
    ours = _platform()
    for complete in root.glob("*/complete"):
        home = complete.parent
        with contextlib.suppress(OSError), (root / f"{home.name}.lock").open("a") as lock, complete.open() as used:
            if time.time() - complete.stat().st_mtime < _UNUSED_DAYS * 86400 and not _is_outlived(home, ours):
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(home, ignore_errors=True)


def _is_outlived(home: pathlib.Path, ours: tuple[str, str]) -> bool:
    """Whether the platform's environment below this one was changed or removed."""
    try:
        prefix, _, state = (home / "platform").read_text().partition("\n")
    except FileNotFoundError:
        return False
    return not os.path.isdir(prefix) or (prefix == ours[0] and state != ours[1])
