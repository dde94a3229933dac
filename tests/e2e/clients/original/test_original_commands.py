"""Every command of the original's client against a real master and agent, table by table."""

import checklist
import pytest


@pytest.mark.parametrize("table", checklist.tables("commands"), ids=lambda path: path.stem)
def test_its_commands_do_what_the_table_says(client, done_once, table):
    rows = checklist.rows_of(table)
    assert rows
    complaints = client.complaints(rows)
    assert not complaints, "\n" + "\n".join(complaints)
