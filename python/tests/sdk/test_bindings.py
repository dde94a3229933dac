"""The generated client: names of the original's, messages to JSON and back. tests/e2e has it against a master."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from determined.common.api import bindings, errors

API = pathlib.Path(__file__).resolve().parents[3] / "tools" / "api"
NAMES = json.loads((API / "names.json").read_text())
DOCUMENT = json.loads((API / "openapi.json").read_text())
IMPORT_MILLISECONDS_MAX = 60


def served() -> set[str]:
    """The operations of the document, without the names of parameters."""
    return {
        "/".join("{}" if part.startswith("{") else part for part in f"{verb.upper()} {path}".split("/"))
        for path, operations in DOCUMENT["paths"].items()
        for verb in operations
    }


def operations() -> dict[str, dict[str, Any]]:
    """The original's operations that this master has."""
    found = {
        "/".join("{}" if part.startswith("{") else part for part in key.split("/")): entry
        for key, entry in NAMES["operations"].items()
    }
    return {key: found[key] for key in found.keys() & served()}


def test_every_call_of_the_original_that_the_master_serves_has_its_name() -> None:
    missing = [entry["name"] for entry in operations().values() if not hasattr(bindings, entry["name"])]
    assert len(operations()) > 240 and missing == []


def test_every_call_has_the_messages_and_enumerations_of_the_original() -> None:
    for entry in operations().values():
        signature = inspect.signature(getattr(bindings, entry["name"]))
        if "body" in entry:
            body = "dict[str, Any]" if entry["body"] == "object" else entry["body"]
            assert signature.parameters["body"].annotation.removesuffix(" | None") == body
        if "reply" in entry:
            assert signature.return_annotation in (entry["reply"], f"Iterator[{entry['reply']}]")
            assert hasattr(bindings, entry["reply"])
        for name, enumeration in entry.get("query", {}).items():
            if name in signature.parameters:
                assert enumeration in signature.parameters[name].annotation, (entry["name"], name)


def test_every_operation_of_the_document_has_a_call() -> None:
    calls = [name for name in vars(bindings) if name.startswith(("get_", "post_", "put_", "patch_", "delete_"))]
    assert len(calls) == len(served())


def test_every_enumeration_has_the_values_of_the_original() -> None:
    for name, values in NAMES["enums"].items():
        assert [str(member) for member in getattr(bindings, name)] == values
    assert bindings.experimentv1State.COMPLETED == "STATE_COMPLETED"
    assert bindings.v1OrderBy.ASC == "ORDER_BY_ASC"


def test_a_message_becomes_json_and_back() -> None:
    job = bindings.v1JobSummary(jobsAhead=2, state=bindings.jobv1State.QUEUED)
    assert job.to_json() == {"jobsAhead": 2, "state": "STATE_QUEUED"}
    assert bindings.v1JobSummary.from_json(job.to_json()) == job
    search = bindings.v1GetGroupsRequest(limit=3)
    assert bindings.v1GetGroupsRequest.from_json(search.to_json()).limit == 3


def test_messages_inside_of_messages_are_read_in_lists_and_maps() -> None:
    slot = {
        "id": "0",
        "enabled": True,
        "draining": False,
        "device": {"id": 0, "brand": "x", "uuid": "u", "type": "TYPE_CPU"},
    }
    stats = {"typeStats": {"TYPE_CPU": {"states": {}, "disabled": 0, "draining": 0, "total": 1}}, "brandStats": {}}
    agent = {
        "id": "a", "registeredTime": "2020-01-01T00:00:00Z", "slots": {"0": slot}, "containers": {}, "addresses": [],
        "enabled": True, "draining": False, "version": "1", "resourcePools": ["default"], "slotStats": stats,
        "label": "", "attributes": {}, "silent": False,
    }  # fmt: skip
    page = {"offset": 0, "limit": 0, "startIndex": 0, "endIndex": 1, "total": 1}
    reply = bindings.v1GetAgentsResponse.from_json({"agents": [agent], "pagination": page})
    (read,) = reply.agents
    assert read.slots["0"].device.type is bindings.devicev1Type.CPU
    assert read.slotStats.typeStats["TYPE_CPU"].total == 1
    assert read.to_json(omit_unset=True) == agent


def test_only_members_that_were_given_are_sent() -> None:
    patch = bindings.v1PatchExperiment(name="new", notes=None)
    assert patch.to_json(omit_unset=True) == {"name": "new", "notes": None}
    assert patch.to_json()["description"] is None
    assert patch.description is None
    nested = bindings.v1PutTrialRequest(
        externalTrialId="one", createTrialRequest=bindings.v1CreateTrialRequest(experimentId=1)
    )
    assert nested.to_json(omit_unset=True)["createTrialRequest"] == {"experimentId": 1}


def test_members_and_values_that_this_version_does_not_know_are_tolerated() -> None:
    job = bindings.v1JobSummary.from_json({"jobsAhead": 2, "state": "STATE_OF_TOMORROW", "more": 1})
    assert job.state == "STATE_OF_TOMORROW" and job.to_json() == {"jobsAhead": 2, "state": "STATE_OF_TOMORROW"}
    assert copy.deepcopy(job) == job == pickle.loads(pickle.dumps(job))
    known = bindings.jobv1State.QUEUED
    assert copy.deepcopy(known) is known and pickle.loads(pickle.dumps(known)) is known


def test_what_is_missing_or_misspelled_is_named() -> None:
    with pytest.raises(errors.BadResponseException, match="v1JobSummary of the master has no state"):
        bindings.v1JobSummary.from_json({"jobsAhead": 2})
    with pytest.raises(TypeError, match="v1JobSummary needs state"):
        bindings.v1JobSummary(jobsAhead=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="v1PatchExperiment has no nmae"):
        bindings.v1PatchExperiment(nmae="x")  # type: ignore[call-arg]


def test_numbers_that_json_lacks_are_text_on_the_wire() -> None:
    reply = bindings.v1GetBestSearcherValidationMetricResponse.from_json({"metric": "NaN"})
    assert reply.metric is not None and math.isnan(reply.metric)
    assert reply.to_json() == {"metric": "NaN"}
    filters = bindings.v1BulkExperimentFilters.from_json({"projectId": "7"})
    assert filters.projectId == 7


def test_the_client_is_imported_fast() -> None:
    program = (
        "import time, determined.common.api; start = time.process_time(); import determined.common.api.bindings;"
        "print((time.process_time() - start) * 1000)"
    )
    times = [
        float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
        for _ in range(5)
    ]
    assert min(times) < IMPORT_MILLISECONDS_MAX, times
