"""What is recorded of where a trial runs."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from determined import _environment
from determined.common import _git


def test_packages_are_what_pip_freeze_says() -> None:
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--all"], capture_output=True, text=True, check=True
    )
    known = [line for line in frozen.stdout.splitlines() if not line.startswith(("#", "-e"))]
    assert "torch==" in frozen.stdout
    assert sorted(known, key=str.lower) == sorted(set(known) & set(_environment.packages()), key=str.lower)


def test_a_package_installed_from_elsewhere_names_its_place_without_a_password(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, origin in {
        "mine-1.0": {"url": "https://ada:secret@host/mine.git", "vcs_info": {"vcs": "git", "commit_id": "89ab"}},
        "near-2.0": {"url": "file:///src/near", "dir_info": {}},
    }.items():
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name[:4].title()}\n")
        (tmp_path / f"{name}.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    (tmp_path / "old-3.0-py3.11.egg-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/no/such/place", str(tmp_path / "archive.zip")])
    assert _environment.packages() == [
        "Mine @ git+https://host/mine.git@89ab",
        "Near @ file:///src/near",
        "old==3.0",
    ]


def test_it_tells_machine_versions_and_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("DET_SESSION_TOKEN", "secret")
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        found = _environment.collect()
    finally:
        torch.use_deterministic_algorithms(False)
    text = json.dumps(found)
    assert "secret" not in text
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
    assert found["versions"]["torch"] == torch.__version__
    assert found["switches"]["deterministic_algorithms"] and found["switches"]["deterministic_algorithms_warn_only"]
    assert found["hardware"]["cores"] == os.cpu_count() and found["hardware"]["memory_bytes"] > 2**20
    assert found["hardware"]["gpus"] == [] or torch.cuda.is_available()
    assert found["os"]["name"] and found["os"]["kernel"].startswith("Linux")
    assert text == json.dumps(_environment.collect() | {"switches": found["switches"]}), "the same for every trial"


def test_a_failed_report_is_ignored() -> None:
    def refuse(_: str) -> None:
        raise RuntimeError("no")

    thread = _environment.report_in_background(refuse)
    thread.join(10)
    assert not thread.is_alive()


def test_trials_of_one_process_report_it_once_and_again_where_it_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_environment, "_reported", None)
    sent: list[str] = []

    def report() -> bool:
        thread = _environment.report_in_background(sent.append)
        if thread is not None:
            thread.join(10)
        return thread is not None

    reported = _environment.report_once()
    child = os.fork()
    if child == 0:  # as every trial by default
        os._exit(0 if report() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert sent == []
    reported.next_trial()
    assert not report(), "the first one has reported it"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert report() and report(), "it is compared with the first one"
    assert json.loads(sent[0])["variables"]["OMP_NUM_THREADS"] == "7"
    monkeypatch.undo()
    monkeypatch.setattr(_environment, "_reported", reported)
    assert not report()


def test_what_the_first_trial_did_not_report_the_next_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_environment, "_reported", None)
    reported = _environment.report_once()

    def refuse(_: str) -> None:
        raise ConnectionError("no")

    for send in (refuse, print, print):
        thread = _environment.report_in_background(send)
        assert thread is not None
        thread.join(10)
        reported.next_trial()


@pytest.fixture
def repository(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model_def.py").write_text("1")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def git(where: pathlib.Path, *words: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@host"]
    return subprocess.run(
        ["git", "-C", str(where), *identity, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_commit_of_a_submission_is_told(repository: pathlib.Path) -> None:
    git(repository, "remote", "add", "origin", "https://ada:secret@host/repository.git")
    found: dict[str, Any] = _git.origin(repository / "model")
    assert found.pop("gitCommitDate").startswith("20")
    assert found == {
        "gitCommit": git(repository, "rev-parse", "HEAD"),
        "gitBranch": "main",
        "gitCommitter": "Ada <ada@host>",
        "gitRemote": "https://host/repository.git",
        "gitDirty": False,
    }


def test_only_changes_below_the_submitted_directory_make_it_dirty(repository: pathlib.Path) -> None:
    (repository / "elsewhere").write_text("x")
    assert _git.origin(repository / "model")["gitDirty"] is False
    (repository / "model" / "new.py").write_text("x")
    assert _git.origin(repository / "model")["gitDirty"] is True


def test_without_a_commit_or_git_there_is_nothing(
    tmp_path: pathlib.Path, repository: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    assert _git.origin(empty) == {}
    assert _git.origin(None) == {}
    monkeypatch.setenv("PATH", "/nowhere")
    assert _git.origin(repository) == {}
