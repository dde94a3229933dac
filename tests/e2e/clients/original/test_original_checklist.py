"""The tables have every command and method that the original's client has, and the page has the tables."""

import json
import subprocess

import checklist
import pytest
from driven import HERE


@pytest.fixture(scope="module")
def of_the_client(original_client):
    """What its argument parsers and its classes have."""
    done = subprocess.run(
        [str(original_client / "python"), str(HERE / "driver.py")],
        input='{"do": "leaves"}\n{"do": "methods"}\n',
        capture_output=True,
        text=True,
        check=True,
    )
    commands, methods = map(json.loads, done.stdout.splitlines())
    return {"commands": commands, "methods": methods}


@pytest.mark.parametrize("kind", ["commands", "methods"])
def test_everything_that_it_has_is_in_a_table(of_the_client, kind):
    listed = checklist.LEAVES if kind == "commands" else checklist.METHODS
    assert listed.read_text().split("\n")[:-1] == of_the_client[kind]
    assert sorted(checklist.by_leaf(kind)) == of_the_client[kind]


def test_each_row_calls_the_method_that_it_is_about():
    rows = [row for rows in checklist.by_leaf("methods").values() for row in rows if row.is_run]
    assert len(rows) > 200
    assert [str(row) for row in rows if f"{row.leaf.rsplit('.', 1)[1]}(" not in row.program] == []


def test_each_row_of_the_shell_has_something_to_find():
    """A command may succeed without a word; a look at files, never."""
    rows = [row for path in checklist.tables("commands") for row in checklist.rows_of(path) if row.leaf == "!"]
    assert [str(row) for row in rows if not row.output] == []


def test_the_tables_are_aligned_and_the_page_says_what_they_say():
    for path in (*checklist.tables("commands"), *checklist.tables("methods")):
        text = path.read_text()
        assert checklist.aligned(text) == text, f"run python {checklist.HERE / 'checklist.py'}"
    assert checklist.PAGE.read_text() == checklist.page(), f"run python {checklist.HERE / 'checklist.py'}"
