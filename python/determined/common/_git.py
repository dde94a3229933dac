"""The commit of a directory of code, if it is a git working directory."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Any

_SECONDS = 2.0


def origin(directory: str | os.PathLike[str] | None) -> dict[str, Any]:
    """``gitCommit``, ``gitRemote``, ``gitDirty`` and so on of a submission; empty if git does not know them or is too
    slow.
    """
    if directory is None:
        return {}
    deadline = time.monotonic() + _SECONDS
    status = _git(directory, deadline, "status", "--porcelain=v2", "--branch", "--", ".")
    if status is None:
        return {}
    found: dict[str, Any] = {"gitDirty": False}
    remote = "origin"
    for line in status.splitlines():
        name, _, value = line.removeprefix("# ").partition(" ")
        if not line.startswith("#"):
            found["gitDirty"] = True
        elif name == "branch.oid":
            found["gitCommit"] = value
        elif name == "branch.head" and value != "(detached)":
            found["gitBranch"] = value
        elif name == "branch.upstream":
            remote = value.partition("/")[0]
    if found.get("gitCommit", "(initial)") == "(initial)":
        return {}
    if url := _git(directory, deadline, "config", "--get", f"remote.{remote}.url"):
        found["gitRemote"] = re.sub(r"^(https?://)[^/]*@", r"\1", url)
    if told := _git(directory, deadline, "log", "-1", "--pretty=format:%cI%n%cn <%ce>"):
        found["gitCommitDate"], _, found["gitCommitter"] = told.partition("\n")
    return found


def _git(directory: str | os.PathLike[str], deadline: float, *words: str) -> str | None:
    """The output of git; None if it fails. Changes nothing, and starts no program that the repository names."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", os.fspath(directory), *words]
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.01, deadline - time.monotonic()),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.decode(errors="replace").strip() if ended.returncode == 0 else None
