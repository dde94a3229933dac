"""Records the environment of a process: packages, hardware, switches. Every run of a trial has one record.

A record contains nothing that differs between trials, so that a thousand trials on one machine share one record.
"""

from __future__ import annotations

import functools
import json
import logging
import mmap
import os
import pathlib
import platform
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from determined._runtime_api import RankClient
from determined._version import __version__

logger = logging.getLogger("determined")

_INSTALLED = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)(-py[0-9.]+)?(-[^-]+)?\.(dist-info|egg-info)")
_VARIABLES = re.compile(
    "PYTHONHASHSEED|PYTHONOPTIMIZE|LD_PRELOAD|(OMP|MKL|OPENBLAS|NCCL|GLOO|CUBLAS|CUDNN|TORCH|PYTORCH|MALLOC)_.*"
)
"""Variables that configure libraries; others are left out because they may hold secrets."""
_CHANGEABLE = ("versions", "switches", "variables", "packages")
_HASH_BYTES = 8


def collect() -> dict[str, Any]:
    """Returns a JSON object. It describes PyTorch and NumPy only if this process has imported them."""
    found = _changeable()
    return {"versions": found["versions"], "os": _operating_system(), "hardware": _hardware(), **found}


def _changeable() -> dict[str, Any]:
    """What may differ between trials that run in one process."""
    return {
        "versions": _versions(_imported()),
        "switches": _switches(),
        "variables": _variables(),
        "packages": packages(),
    }


def warm_up() -> None:
    """Reads what forks of this process would read again: packages, versions and the machine."""
    packages()
    _versions(_imported())
    _operating_system()
    _machine()


class Reported:
    """What the first trial of this process has reported, also to forks of it. The master takes it for the environment
    of the next trials, too, which report theirs only if it differs.
    """

    def __init__(self) -> None:
        self._hash = mmap.mmap(-1, _HASH_BYTES)
        self._is_first = True

    def next_trial(self) -> None:
        self._is_first = False

    def accepted(self, environment: Mapping[str, Any]) -> None:
        """The master has it."""
        if self._is_first:
            self._hash[:] = self._of(environment)

    def has_this(self) -> bool:
        """Whether the environment is that of the first trial."""
        try:
            return not self._is_first and self._hash[:] == self._of(_changeable())
        except Exception:
            return False  # the report says why

    @staticmethod
    def _of(environment: Mapping[str, Any]) -> bytes:
        known = [(name, repr(environment[name])) for name in _CHANGEABLE]
        return hash(tuple(known)).to_bytes(_HASH_BYTES, "little", signed=True)  # equal in forks


_reported: Reported | None = None


def report_once() -> Reported:
    """From now on, trials of this process report their environment only if it is not that of the first one."""
    global _reported
    _reported = Reported()
    return _reported


def report_in_background(send: Callable[[str], None]) -> threading.Thread | None:
    """Passes the JSON of :func:`collect` to ``send`` in a thread of its own. A failure is only logged.

    Returns None if the first trial of this process has reported the same.
    """
    reported = _reported
    if reported is not None and reported.has_this():
        return None

    def run() -> None:
        try:
            environment = collect()
            send(json.dumps(environment))
            if reported is not None:
                reported.accepted(environment)
        except BaseException as error:
            logger.debug("the environment of the trial was not recorded: %s", error)

    thread = threading.Thread(target=run, name="environment", daemon=True)
    thread.start()
    return thread


def reporter(rank: int, client: RankClient | None, runtime: Any) -> Callable[[str], None]:
    """The function to pass to :func:`report_in_background`: uses the chief's connection, or a new one for the first
    rank of another machine.
    """

    def send(document: str) -> None:
        if client is not None:
            client.report_environment(0, document)
            return
        own = runtime.Client.from_environment()
        own.report_environment(rank, document)
        own.close()

    return send


def packages() -> list[str]:
    """What ``pip freeze --all`` would print for this process, read from the directories that pip wrote, in
    milliseconds.
    """
    found: dict[str, str] = {}
    for place in sys.path:
        try:
            changed = os.stat(place or ".").st_mtime_ns
        except OSError:
            continue
        for name, requirement in _packages_in(os.path.abspath(place), changed):
            found.setdefault(name, requirement)
    return [found[name] for name in sorted(found)]


@functools.lru_cache(maxsize=64)
def _packages_in(place: str, changed: int) -> tuple[tuple[str, str], ...]:
    """Names and requirements of the packages in a directory; pip changes its time (``changed``) with each of them."""
    return tuple(
        (re.sub("[-_.]+", "-", name).lower(), _requirement(name, version, where))
        for name, version, where in _installed(pathlib.Path(place))
    )


def _installed(place: pathlib.Path) -> Iterator[tuple[str, str, pathlib.Path]]:
    try:
        entries = os.listdir(place)
    except OSError:
        return  # an archive, or nothing
    for entry in sorted(entries):
        if match := _INSTALLED.fullmatch(entry):
            yield match["name"], match["version"], place / entry


def _requirement(name: str, version: str, where: pathlib.Path) -> str:
    try:
        with open(where / "METADATA", errors="replace") as file:
            head = file.read(400)
        if spelled := re.search(r"^Name: *(\S+)$", head, re.MULTILINE):
            name = spelled[1]
    except OSError:
        pass
    try:
        origin = json.loads((where / "direct_url.json").read_text())
    except (OSError, ValueError):
        return f"{name}=={version}"
    url, commit = origin.get("url", ""), (origin.get("vcs_info") or {}).get("commit_id")
    if commit:
        url = f"{origin['vcs_info'].get('vcs', 'git')}+{url}@{commit}"
    return f"{name} @ {re.sub('//[^/@]*@', '//', url)}"  # without the name and password of who installed it


def _imported() -> tuple[str, ...]:
    return tuple(name for name in ("torch", "numpy") if sys.modules.get(name) is not None)


@functools.lru_cache(maxsize=4)
def _versions(imported: tuple[str, ...]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"determined": __version__, "python": platform.python_version()}
    for name in imported:
        versions[name] = str(sys.modules[name].__version__)
    if (torch := sys.modules.get("torch")) is not None:
        versions["cuda"] = torch.version.cuda
        versions["cudnn"] = str(torch.backends.cudnn.version()) if torch.version.cuda else None
    return versions


@functools.lru_cache(maxsize=1)
def _operating_system() -> dict[str, str]:
    system = {"kernel": f"{platform.system()} {platform.release()}", "machine": platform.machine()}
    release = _fields("/etc/os-release", "=")
    if name := release.get("PRETTY_NAME", release.get("NAME", "")).strip('"'):
        system["name"] = name
    if library := " ".join(platform.libc_ver()).strip():
        system["libc"] = library
    return system


def _hardware() -> dict[str, Any]:
    return {
        "hostname": platform.node(),
        **_machine(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "gpus": _gpus(),
        "gpu_driver": _read("/sys/module/nvidia/version") or None,
    }


@functools.lru_cache(maxsize=1)
def _machine() -> dict[str, Any]:
    cpu, memory = _fields("/proc/cpuinfo", ":"), _fields("/proc/meminfo", ":").get("MemTotal", "").split()
    return {
        "cpu": cpu.get("model name") or cpu.get("Processor") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": int(memory[0]) * 1024 if memory and memory[0].isdigit() else None,
    }


def _gpus() -> list[dict[str, Any]]:
    """The GPUs that this process may use, by PyTorch's names."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "name": properties.name,
                "memory_bytes": properties.total_memory,
                "capability": f"{properties.major}.{properties.minor}",
            }
        )
    return found


def _switches() -> dict[str, Any]:
    """The switches that decide whether results can be reproduced."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    cudnn = torch.backends.cudnn
    return {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "deterministic_algorithms_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "cudnn_deterministic": cudnn.deterministic,
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_allow_tf32": cudnn.allow_tf32,
        "matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "threads": torch.get_num_threads(),
    }


def _variables() -> dict[str, str]:
    named = {name: os.environ[name] for name in sorted(os.environ) if _VARIABLES.fullmatch(name)}
    return {name: value for name, value in named.items() if len(value) < 1000}


def _fields(path: str, separator: str) -> Mapping[str, str]:
    """Parses ``name: value`` lines; the first line of a name counts."""
    fields: dict[str, str] = {}
    for line in _read(path).splitlines():
        name, found, value = line.partition(separator)
        if found:
            fields.setdefault(name.strip(), value.strip())
    return fields


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""
