"""The generated Python client is what its document gives; names spread as `bindings_model.py` says."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bindings_model  # noqa: E402

NAMES: dict[str, Any] = {
    "operations": {
        "GET /api/v1/notebooks/{notebookId}": {"name": "get_GetNotebook", "reply": "v1GetNotebookResponse"},
        "GET /api/v1/shells/{shellId}": {"name": "get_GetShell", "reply": "v1GetShellResponse"},
    },
    "extensions": {},
    "messages": {
        "v1GetNotebookResponse": {"notebook": "v1Notebook"},
        "v1GetShellResponse": {"shell": "v1Shell"},
        "v1Notebook": {"state": "taskv1State", "owner": "v1Owner"},
    },
    "more": {},
    "open": {"v1Owner": {"uid": "int"}},
    "enums": {"taskv1State": ["STATE_QUEUED", "STATE_RUNNING"]},
}
TASK = {"$ref": "#/components/schemas/Task"}
SCHEMAS = {
    "TaskReply": {"type": "object", "properties": {"notebook": TASK, "shell": TASK}},
    "Task": {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "state": {"type": "string"}, "owner": {}},
    },
}


def operation(schema: str) -> dict[str, Any]:
    reply = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    place = {"name": "taskId", "in": "path", "schema": {"type": "string"}}
    return {"tags": ["Tasks"], "summary": "one", "parameters": [place], "responses": {"200": reply}}


def model() -> bindings_model.Model:
    paths = {
        "/api/v1/notebooks/{taskId}": {"get": operation("TaskReply")},
        "/api/v1/shells/{taskId}": {"get": operation("TaskReply")},
        "/api/v1/notebooks/{taskId}/owner": {"get": operation("Task")},
    }
    return bindings_model.Model({"paths": paths, "components": {"schemas": SCHEMAS}}, NAMES)


def types_of(name: str) -> dict[str, str]:
    return {member.name: member.type for member in model().messages[name].members}


def test_a_schema_with_several_names_is_a_message_for_each() -> None:
    assert types_of("v1GetNotebookResponse") == {"notebook": "v1Notebook"}
    assert types_of("v1GetShellResponse") == {"shell": "v1Shell"}


def test_a_member_has_the_enumeration_of_its_message() -> None:
    assert types_of("v1Notebook")["state"] == "taskv1State"
    assert types_of("v1Shell")["state"] == "str"


def test_what_the_document_leaves_open_is_a_message_where_its_members_are_known() -> None:
    assert types_of("v1Notebook")["owner"] == "v1Owner" and types_of("v1Owner") == {"uid": "int"}
    assert types_of("v1Shell")["owner"] == "Any"


def test_a_call_without_a_name_gets_one_from_its_path() -> None:
    calls = {call.path: call for call in model().calls}
    made = calls["/api/v1/notebooks/{}/owner"]
    assert (made.name, made.reply) == ("get_GetNotebookOwner", "v1GetNotebookOwnerResponse")
    assert [p.name for p in calls["/api/v1/shells/{}"].parameters] == ["shellId"]


def check(root: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "api" / "python_bindings.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_client_in_the_tree_is_what_the_document_gives() -> None:
    done = check(HERE.parents[1])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("change", ["edit", "remove", "add"])
def test_a_client_that_is_out_of_date_is_named(tmp_path: pathlib.Path, change: str) -> None:
    api = pathlib.Path("python", "determined", "common", "api", "bindings")
    shutil.copytree(HERE, tmp_path / "tools" / "api")
    shutil.copytree(HERE.parents[1] / api, tmp_path / api)
    shutil.copy(HERE.parents[1] / "ruff.toml", tmp_path)
    changed = tmp_path / api / "calls" / ("more.py" if change == "add" else "jobs.py")
    if change == "remove":
        changed.unlink()
    else:
        changed.write_text("# by hand\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"{api / 'calls' / changed.name} is out of date; run tools/api/generate\n"


def test_a_member_that_may_be_null_has_the_type_of_its_schema_and_may_be_left_out() -> None:
    schemas = {
        "Reply": {
            "type": "object",
            "required": ["latest", "size", "name"],
            "properties": {
                "latest": {"allOf": [{"$ref": "#/components/schemas/Task"}], "nullable": True},
                "size": {"type": "number", "nullable": True},
                "name": {"type": "string"},
            },
        },
        **SCHEMAS,
    }
    paths = {"/api/v1/replies/{taskId}": {"get": operation("Reply")}}
    made = bindings_model.Model({"paths": paths, "components": {"schemas": schemas}}, NAMES)
    (call,) = made.calls
    reply = {member.name: (member.type, member.required) for member in made.messages[call.reply or ""].members}
    assert reply == {"latest": ("v1Task", False), "size": ("float", False), "name": ("str", True)}
