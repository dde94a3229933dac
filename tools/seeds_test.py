"""The page of the seeds names tests that exist."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[1]


def test_every_test_that_the_page_of_the_seeds_names_exists():
    page = (ROOT / "docs/reference/seeds.md").read_text()
    named = {
        name
        for row in page.splitlines()
        if row.startswith("| ")
        for name in re.findall(r"`(test_\w+|[A-Z]\w+)`", row.rpartition(" | ")[2])
    }
    sources = subprocess.run(
        ["git", "ls-files", "*_test.cpp", "*/test_*.py"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    text = "\n".join((ROOT / source).read_text() for source in sources)
    written = set(re.findall(r"def (test_\w+)", text)) | set(re.findall(r"TEST(?:_[FP])?\(\w+,\s*(\w+)\)", text))
    assert len(named) > 30
    assert sorted(named - written) == []
