"""How much more memory this process may use."""

from __future__ import annotations

import pathlib

_CONTROL_GROUPS = pathlib.Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes that are free in the machine and in every control group of the process; None if the system does not say."""
    found = [value for value in (_of_machine(), *_of_groups()) if value is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    try:
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _of_groups() -> list[int | None]:
    try:
        lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    group = _CONTROL_GROUPS / own.lstrip("/")
    return [_of_group(one) for one in (group, *group.parents) if one.is_relative_to(_CONTROL_GROUPS)]


def _of_group(group: pathlib.Path) -> int | None:
    """The limit less what is used and cannot be given back, as files that are only cached can."""
    try:
        limit = (group / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines() if line)
        return max(0, int(limit) - used + int(stat.get("inactive_file", 0)) + int(stat.get("active_file", 0)))
    except (OSError, ValueError):
        return None
