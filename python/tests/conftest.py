"""Finds the package in the source tree when it is not installed."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

# Threads that spin while they wait take the core from the test beside this one; a small model then costs 15 times as
# much.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest  # noqa: E402
from warm_worker import WarmWorker  # noqa: E402


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests: the longest first; those that share a fixture of their file together."""
    items.sort(key=lambda item: item.path.stem != "test_tensorflow")
    for item in items:
        fixtures = getattr(item, "_fixtureinfo", None)
        definitions = [] if fixtures is None else [d[-1] for d in fixtures.name2fixturedefs.values()]
        if any(definition.scope == "module" for definition in definitions):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="module")
def worker() -> Iterator[WarmWorker]:
    """A warm worker for a file's tests; it ends well."""
    started = WarmWorker()
    yield started
    assert started.close() == 0
