"""The document of the REST API, held against the running master by validators from outside."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from cluster import HERE, PATIENCE, REPOSITORY, Cluster

# A call that ends the login, and calls that may wait for a long time for something to happen.
EXCLUDED = r"/auth/logout$|/logs$|/signals/preemption$|/metrics-stream|/follow$"


@pytest.fixture
def master(tmp_path):
    cluster = Cluster(tmp_path / "cluster", apart=True)
    cluster.start_master()
    yield cluster
    cluster.end()


@pytest.fixture
def master_with_an_experiment(master, tmp_path):
    """Called by an administrator, and with one trial, so that calls get beyond "not found"."""
    variables = {"PYTHONPATH": str(REPOSITORY / "python"), "DET_MASTER": master.url, "HOME": str(tmp_path)}
    script = [sys.executable, HERE / "models" / "unmanaged" / "train.py", "--storage", tmp_path / "storage"]
    subprocess.run(script, env=master.environment | variables, cwd=tmp_path, check=True, timeout=PATIENCE)
    master.token = "-"
    master.token = master.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    return master


def test_the_document_is_valid_openapi_and_is_the_one_that_clients_are_generated_from(master):
    from openapi_spec_validator import validate

    document = master.get("api.swagger.json")
    validate(document)
    kept = json.loads((REPOSITORY / "tools" / "api" / "openapi.json").read_text())
    document["info"]["version"] = kept["info"]["version"]
    assert document == kept, "run tools/api/generate"


def test_every_operation_has_a_summary_and_a_tag(master):
    for path, operations in master.get("api.swagger.json")["paths"].items():
        for verb, operation in operations.items():
            assert operation.get("summary"), f"{verb} {path}"
            assert operation.get("tags"), f"{verb} {path}"


def test_generated_requests_get_the_answers_that_the_document_promises(master_with_an_experiment, tmp_path):
    """Schemathesis: thousands of requests, valid and invalid, none of which the master fails to answer as it says."""
    master = master_with_an_experiment
    # The original answers 501 to a verb that a path does not have, which Schemathesis takes for a failure.
    settings = tmp_path / "schemathesis.toml"
    settings.write_text("[phases.coverage]\nunexpected-methods = []\n")
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", settings, "run", f"{master.url}/api/v1/api.swagger.json"]
    command += ["--header", f"Authorization: Bearer {master.token}", "--phases", "coverage,fuzzing", "--no-shrink"]
    command += ["--max-examples", "3", "--request-timeout", "30", "--warnings", "off", "--continue-on-failure"]
    command += ["--exclude-path-regex", EXCLUDED, "--checks", "not_a_server_error,status_code_conformance"]
    command[-1] += ",content_type_conformance,response_schema_conformance"
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=master.environment)
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr
    assert int(re.search(r"(\d+) generated", found.stdout)[1]) > 1000
