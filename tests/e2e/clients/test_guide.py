"""What the guide tells users to type works, in the order in which it says so."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from cluster import BINARY, PYTHON, REPOSITORY
from guide import ELSEWHERE, read_few_images, script_of
from postgres import PostgresServer

ORIGINAL = REPOSITORY / "src" / "store" / "import" / "testing" / "original_0_38.sql"
PAGES = [page for page in sorted((REPOSITORY / "docs" / "guide").glob("*.md")) if page.stem not in ELSEWHERE]


@pytest.fixture
def server_of():
    """What pages about PostgreSQL take for granted: a server, and a database that its reader has made, or has."""
    started = []

    def starter(page):
        if page.stem not in ("postgresql", "moving"):
            return {}
        server = PostgresServer()
        started.append(server)
        if page.stem == "moving":
            original = server.database("determined")
            server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "determined", "-c", ORIGINAL.read_text())
            return {"ORIGINAL": original}
        known = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "det"}
        return known | {"DB": server.database("determined")}

    yield starter
    for server in started:
        server.end()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_guide_works(page, start, compiled, server_of, tmp_path):
    script = script_of(page.read_text())
    assert "$ det " in script, f"{page.name} shows no command"
    slots = re.search(r"det up --slots (\d+)", page.read_text())
    cluster = start(options=["--slots", slots.group(1)] if slots else [], waiting=True)
    compiled.lend_to(cluster.agent_directory)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "det").symlink_to(pathlib.Path(BINARY).resolve())
    (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} "$@"\n')  # as in an activated .venv
    (programs / "python").chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    shutil.copytree(REPOSITORY / "examples", work / "examples")
    read_few_images(work / "examples")
    environment = cluster.environment | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "DET_MASTER": cluster.url,
        "DET_PYTHON": cluster.python,
        "DET_CXX_CACHE": str(compiled.place),
        "PYTHONPATH": str(REPOSITORY / "python"),
        **server_of(page),
    }
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=work,
        env=environment,
        text=True,
        timeout=600,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{page.name}, after the last command below:\n{done.stdout[-4000:]}"
    assert "Traceback" not in done.stdout
