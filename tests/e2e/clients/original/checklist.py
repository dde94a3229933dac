"""The tables of this folder: what the original's client is asked to do, and what must come of it.

    python checklist.py    aligns the tables and writes docs/reference/original-client.md

A row of commands/*.txt is `user | command | exit | output | note`:

- user: name or name:password; `-` uses the login that the client stored
- command: words for `det`; `< a b` gives it lines of input, `! words` is a command of the shell instead
- exit: its status; `0 until` repeats it until it is as the row says; `-` is not run, for the reason in the note
- output: regular expressions separated by ` && ` that the output matches; with `!` before it, one that it does not.
  A group `(?P<name>…)` is a variable from then on: `{name}` in commands and expressions
- note: `refused: why` where the answer is that it cannot be; `defect: what` where we differ, and the row has to fail

A row of methods/*.txt is `method | program | holds | note`: after the program, a statement or an expression (`it`), the
expression `holds` is true, or the program `raises Error: expression`. An empty program is not run.
"""

import dataclasses
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[3] / "docs" / "reference" / "original-client.md"
LEAVES = HERE / "all_commands.txt"
METHODS = HERE / "all_methods.txt"
COMMAND_COLUMNS = ("user", "command", "exit", "output", "note")
METHOD_COLUMNS = ("method", "program", "holds", "note")


@dataclasses.dataclass
class Row:
    table: str
    line: int
    cells: dict[str, str]
    leaf: str

    def __getattr__(self, name):
        try:
            return self.__dict__["cells"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self):
        return f"{self.table}:{self.line}: {self.cells.get('command') or self.cells.get('program')}"

    @property
    def reason(self):
        return self.note.removeprefix("refused: ") if self.note.startswith("refused: ") else ""

    @property
    def defect(self):
        return self.note.removeprefix("defect: ") if self.note.startswith("defect: ") else ""

    @property
    def is_run(self):
        return self.cells["exit"] != "-" if "exit" in self.cells else bool(self.program)


def cells_of(line):
    """The cells of a line; a bar with a backslash before it is part of one."""
    return [cell.strip() for cell in re.split(r" \|(?= |$)", line)]


def rows_of(path):
    """The rows of one table."""
    columns = COMMAND_COLUMNS if path.parent.name == "commands" else METHOD_COLUMNS
    known = LEAVES.read_text().split("\n") if columns is COMMAND_COLUMNS else METHODS.read_text().split("\n")
    rows = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = cells_of(line)
        cells += [""] * (len(columns) - len(cells))
        where = f"{path.name}:{number}"
        if len(cells) > len(columns):
            raise ValueError(f"{where}: {len(cells)} cells, but there are {len(columns)} columns")
        row = Row(path.stem, number, dict(zip(columns, cells, strict=True)), "")
        row.leaf = row.cells.get("method") or leaf_of(row.command, known)
        if row.leaf not in known and not row.leaf.startswith("!"):
            raise ValueError(f"{where}: {row.leaf!r} is not in the list of what the client has")
        if row.note and not (row.reason or row.defect):
            raise ValueError(f"{where}: the note {row.note!r} is neither `refused: why` nor `defect: what`")
        if not row.is_run and not row.reason:
            raise ValueError(f"{where}: it is not run, and no reason is given")
        rows.append(row)
    return rows


def leaf_of(command, known):
    """The command of the client that a row runs; `!` for one of the shell."""
    if command.startswith("!"):
        return "!"
    words = command.split()
    for count in range(len(words), 0, -1):
        if " ".join(words[:count]) in known:
            return " ".join(words[:count])
    return command


def tables(kind):
    return sorted((HERE / kind).glob("*.txt"))


def aligned(text):
    """The same table with columns of equal width."""
    lines = [line if line.startswith("#") else cells_of(line) for line in text.split("\n")]
    split = [line for line in lines if isinstance(line, list) and len(line) > 1]
    widths = [max((len(row[column]) for row in split if column < len(row) - 1), default=0) for column in range(9)]
    done = []
    for line in lines:
        if isinstance(line, list) and len(line) > 1:
            last = max(column for column, cell in enumerate(line) if cell)
            cells = [cell.ljust(width) for cell, width in zip(line[: last + 1], widths, strict=False)]
            done.append(" | ".join(cells).rstrip())
        else:
            done.append(line if isinstance(line, str) else "".join(line).rstrip())
    return "\n".join(done)


def by_leaf(kind):
    """All rows of a kind by the command or method that they are about."""
    found = {}
    for path in tables(kind):
        for row in rows_of(path):
            if row.leaf != "!":
                found.setdefault(row.leaf, []).append(row)
    return found


def verdict(rows):
    """What the page says of a command or method."""
    run = [row for row in rows if row.is_run]
    fine = [row for row in run if not row.reason and not row.defect]
    parts = [f"✔ {len(fine)}" if len(fine) > 1 else "✔"] if fine else []
    parts += dict.fromkeys(f"refused: {row.reason}" for row in run if row.reason)
    parts += dict.fromkeys(f"not run: {row.reason}" for row in rows if not row.is_run)
    parts += dict.fromkeys(f"differs: {row.defect}" for row in rows if row.defect)
    return "<br>".join(parts).replace("|", "\\|")


def homes(found):
    """For each group of commands and each class the table that has most of its rows: others use it on the way."""
    in_tables = {}
    for leaf, rows in found.items():
        in_tables.setdefault(group(leaf), []).extend(row.table for row in rows)
    return {name: max(sorted(set(stems)), key=stems.count) for name, stems in in_tables.items()}


def group(leaf):
    return re.split(r"[ .]", leaf)[0]


def count(kind, what, runs):
    """A sentence about all commands or methods."""
    found = by_leaf(kind)
    alone = {leaf for leaf, rows in found.items() if all(row.reason for row in rows)}
    differ = {leaf for leaf, rows in found.items() if any(row.defect for row in rows)}
    run = [row for rows in found.values() for row in rows if row.is_run]
    return (
        f"| {what} | {len(found)} | {len(found) - len(alone) - len(differ)} | {len(alone)} | {len(differ)} |"
        f" {len(run)} {runs} |"
    )


def page():
    """The text of the page."""
    lines = [
        "# The original's client",
        "",
        "`pip install determined==0.38.1` works with this master, unchanged. This page lists every command of its",
        "`det` program and every public method of its SDK, as its own argument parser and classes have them.",
        "`tests/e2e/clients/original` runs each row against a real master and agent and checks status and output.",
        "`python tests/e2e/clients/original/checklist.py` writes this page.",
        "",
        "| | all | work | refused or not run, with a reason | differ | checked by |",
        "| --- | --- | --- | --- | --- | --- |",
        count("commands", "commands", "runs"),
        count("methods", "methods", "calls"),
        "",
        "`✔ 3`: three runs, with different options or users, do what they do with the original's master. `refused`:",
        "the answer is an error, and why. `differs`: what the original's master does and this one does not.",
    ]
    for kind, title in (("commands", "Commands"), ("methods", "Methods of the SDK")):
        lines += ["", f"## {title}"]
        found = by_leaf(kind)
        of = homes(found)
        for path in tables(kind):
            first = path.read_text().split("\n")[0].lstrip("# ")
            leaves = sorted(leaf for leaf in found if of[group(leaf)] == path.stem)
            lines += ["", f"### {first}", "", f"| {kind.removesuffix('s')} | |", "| --- | --- |"]
            lines += [f"| `{leaf}` | {verdict(found[leaf])} |" for leaf in leaves]
    return "\n".join(lines) + "\n"


def main():
    for path in (*tables("commands"), *tables("methods")):
        path.write_text(aligned(path.read_text()))
    PAGE.write_text(page())


if __name__ == "__main__":
    sys.exit(main())
