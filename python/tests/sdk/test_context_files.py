"""What of a directory is sent to the master, and where the master is."""

from __future__ import annotations

import base64
import os
import pathlib
import re

import pytest

from determined.common import _context
from determined.common._ignore import IgnoreRules
from determined.common.api import TokenCache, master_url, password_hash

TABLE = pathlib.Path(__file__).parents[3] / "src" / "cli" / "context" / "context_test.cpp"
ROW = re.compile(r'IgnoreCase\{"(\w+)",\s+"((?:[^"\\]|\\.)*)",\s+"((?:[^"\\]|\\.)*)",\s+(true|false),\s+(true|false)\}')


def cases() -> list[tuple[str, ...]]:
    return [
        tuple(text.encode().decode("unicode_escape") for text in row.groups())
        for row in ROW.finditer(TABLE.read_text())
    ]


@pytest.mark.parametrize(("name", "patterns", "path", "directory", "ignored"), cases())
def test_python_ignores_what_the_command_line_ignores(
    name: str, patterns: str, path: str, directory: str, ignored: str
) -> None:
    assert IgnoreRules(patterns).ignored(path, is_directory=directory == "true") == (ignored == "true"), name


def test_the_table_of_the_command_line_was_found() -> None:
    assert len(cases()) > 25


def test_compiled_files_and_what_detignore_names_are_left_out(tmp_path: pathlib.Path) -> None:
    left_out = ("a.pyc", "sub/__pycache__/b", "data/big.bin", "out.log", ".git/config")
    for name in ("a.py", "sub/keep.log", ".hidden", *left_out):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".detignore").write_text("data/\n*.log\n!keep.log\n")
    entries = _context.read_context(tmp_path)
    assert [entry["path"] for entry in entries] == [".hidden", "a.py", "sub", "sub/keep.log"]
    assert [entry["type"] for entry in entries] == [48, 48, 53, 48]
    assert base64.b64decode(entries[1]["content"]) == b"x"


def test_a_link_to_what_holds_it_is_followed_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "broken").symlink_to("nowhere")
    assert [entry["path"] for entry in _context.read_context(tmp_path)] == ["loop"]


def test_includes_land_at_the_top(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.py").write_text("")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "b.py").write_text("")
    entries = _context.read_context(tmp_path / "model", [tmp_path / "shared"])
    assert [entry["path"] for entry in entries] == ["a.py", "shared", "shared/b.py"]
    with pytest.raises(ValueError, match=r"'a\.py' appears twice in the model definition"):
        _context.read_context(tmp_path / "model", [tmp_path / "model" / "a.py"])


def test_a_directory_that_is_too_large_says_what_to_do(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_context, "BYTES_MAX", 100)
    (tmp_path / "a.bin").write_bytes(bytes(90))
    assert [entry["path"] for entry in _context.read_context(tmp_path)] == [
        "a.bin"
    ]  # real bytes count, not encoded ones
    (tmp_path / "b.bin").write_bytes(bytes(11))
    with pytest.raises(ValueError, match="detignore"):
        _context.read_context(tmp_path)


def test_a_missing_directory_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        _context.read_context(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="must be a directory"):
        _context.read_context(tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("host", "http://host:8080"),
        ("host:99", "http://host:99"),
        ("http://host", "http://host:80"),
        ("https://host", "https://host:443"),
        ("http://[::1]:81/det/", "http://[::1]:81/det"),
    ],
)
def test_an_address_has_one_form(text: str, url: str) -> None:
    assert master_url(text) == url


@pytest.mark.parametrize("text", ["ftp://host", "http://", "http://u:p@host", "host:99999", "http://host?x=1"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid master URL"):
        master_url(text)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DET_MASTER", "DET_MASTER_ADDR", "DETERMINED_MASTER"):
        monkeypatch.delenv(name, raising=False)
    assert master_url() == "http://localhost:8080"
    monkeypatch.setenv("DET_MASTER_ADDR", "second")
    assert master_url() == "http://second:8080"
    monkeypatch.setenv("DET_MASTER", "first")
    assert master_url() == "http://first:8080"


def test_tokens_are_kept_for_their_owner_only_and_for_each_master(tmp_path: pathlib.Path) -> None:
    cache, other = TokenCache("http://a:1", tmp_path / "c"), TokenCache("http://b:1", tmp_path / "c")
    assert cache.token("ada") is None
    cache.remember("ada", "t1", activate=True)
    other.remember("ada", "t2")
    assert (cache.active_user(), cache.token("ada")) == ("ada", "t1")
    assert (other.active_user(), other.token("ada")) == (None, "t2")
    cache.forget("ada")
    assert (cache.active_user(), cache.token("ada"), other.token("ada")) == (None, None, "t2")
    assert os.stat(tmp_path / "c" / "auth.json").st_mode & 0o777 == 0o600


def test_a_damaged_token_cache_counts_as_empty(tmp_path: pathlib.Path) -> None:
    (tmp_path / "auth.json").write_text("{")
    cache = TokenCache("http://a:1", tmp_path)
    assert cache.token("ada") is None
    cache.remember("ada", "t")
    assert cache.token("ada") == "t"


def test_passwords_travel_hashed() -> None:
    assert password_hash("") == ""
    assert len(password_hash("x")) == 128
