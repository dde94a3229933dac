"""The environment that a trial ran in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TrialEnvironment:
    """The environment that a trial ran in.

    ``environments`` is a list of the different environments of the trial, that of the newest run first: dicts with
    ``versions``, ``os``, ``hardware``, ``switches``, ``variables`` and ``packages`` (as ``pip freeze`` prints them);
    ``runs`` has the numbers of the runs in each. ``seeds`` has the seeds ``trial`` and ``experiment``; ``git`` is the
    submitted commit. A trial that has not started has no environment yet.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        found = answer.get("environments") or []
        self.environments: list[dict[str, Any]] = [entry["environment"] for entry in found]
        self.runs: list[list[int]] = [sorted({finding["runId"] for finding in entry["found"]}) for entry in found]
        self.seeds: dict[str, int] = answer.get("seeds") or {}
        self.git: dict[str, Any] = answer.get("git") or {}
