"""Each breach planted once: tidy must name its place and its remedy. Run: python -m pytest tools"""

from __future__ import annotations

import pathlib

import pytest
import tidy

CLEAN = {
    "src/base/README.md": "# base\n",
    "src/base/CMakeLists.txt": "det_module(base PURE\n  SOURCES a.cpp\n  TESTS a_test.cpp)\n",
    "src/base/a.cpp": '#include "det/base/a.h"\n',
    "src/base/a_test.cpp": "TEST(Text, IsCutAtTheLimit) {}\n",
    "src/master/README.md": "# master\n",
    "src/master/CMakeLists.txt": "det_module(master\n  SOURCES m.cpp\n  DEPS base)\n",
    "src/master/m.cpp": '#include <thread>\n#include "det/base/a.h"\n',
}


def grow(root: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    grow(tmp_path, CLEAN)
    return tmp_path


def complaints(tree: pathlib.Path, name: str, text: str) -> list[str]:
    grow(tree, {name: text})
    return [str(complaint) for complaint in tidy.check(tree)]


def in_master(body: str) -> dict[str, str]:
    return {"name": "src/master/m.cpp", "text": f"asio::awaitable<void> f() {{\n  {body}\n}}\n"}


def test_a_clean_tree_gets_no_complaint(tree: pathlib.Path) -> None:
    assert tidy.check(tree) == []


BREACHES = {
    "an include upwards": ("src/base/a.cpp", '#include "det/master/m.h"\n', "base includes master"),
    "decisions that see storage": ("src/base/a.cpp", '#include "det/store/store.h"\n', "base includes store"),
    "torch outside its room": ("src/master/m.cpp", "#include <torch/torch.h>\n", "includes Torch"),
    "a thread in a pure module": ("src/base/a.cpp", "#include <thread>\n", "base is pure"),
    "chance in a pure module": ("src/base/a.cpp", "#include <random>\n", "base is pure"),
    "a file in a pure module": ("src/base/a.cpp", "#include <fstream>\n", "base is pure"),
    "a socket in a pure module": ("src/base/a.cpp", "#include <boost/asio/ip/tcp.hpp>\n", "base is pure"),
    "a clock in a pure module": ("src/base/a.cpp", "auto t = std::chrono::steady_clock::now();\n", "ask the caller"),
    "the environment in a pure module": ("src/base/a.cpp", 'auto t = getenv("HOME");\n', "ask the caller"),
    "a note to fix": ("src/base/a.cpp", "// FIX" "ME: slow\n", "file an issue"),
    "a note without an issue": ("python/a.py", "# TO" "DO: later\n", "name the issue"),
    "friends of tests": ("src/base/a.cpp", "FRIEND" "_TEST(A, B);\n", "public interface"),
    "a file that is two": ("src/base/a.cpp", "int x;\n" * 501, "has 501 lines"),
    "a page that is two": ("webui/src/a.tsx", "x;\n" * 501, "has 501 lines"),
    "a path of one machine": ("docs/a.md", "see /ho" "me/alice/det\n", "no path of one machine"),
    "a registry host": ("webui/a.json", '{"resolved": "https://npm.corp.example' '/react"}\n', "no registry host"),
    "a test without a sentence": ("src/base/a_test.cpp", "TEST(Text, Test2) {}\n", "is no sentence"),
    "a test in snake case": ("src/base/a_test.cpp", "TEST(Text, is_cut_at_the_limit) {}\n", "is no sentence"),
    "a python test without one": ("python/test_a.py", "def test_it() -> None: ...\n", "is no sentence"),
    "a module without a row": ("src/util/README.md", "# util\n", "util has no row"),
    "a module without a README": ("src/api/CMakeLists.txt", "det_module(api PURE)\n", "has no README.md"),
    "a README that is a book": ("src/base/README.md", "line\n" * 61, "longer than a screen"),
    "a path that is gone": ("docs/a.md", "see `src/base/gone.cpp`\n", "`src/base/gone.cpp` is no file"),
    "a file of a folder that is gone": ("src/base/README.md", "# base\n\n`gone.h`\n", "`gone.h` is no file"),
    "a link that leads nowhere": ("docs/a.md", "[a](../src/base/gone.h#top)\n", "`../src/base/gone.h` leads nowhere"),
    "a test that nobody builds": ("src/base/b_test.cpp", "\n", "is built by nobody"),
    "a dependency in the build only": (
        "src/base/CMakeLists.txt", "det_module(base SOURCES a.cpp a_test.cpp DEPS http)\n", "base depends on http"
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", BREACHES)
def test_each_breach_is_found_where_it_is(tree: pathlib.Path, breach: str) -> None:
    name, text, expected = BREACHES[breach]
    found = complaints(tree, name, text)
    assert len(found) == 1, found
    assert expected in found[0]
    assert found[0].startswith((name, name.rsplit("/", 1)[0]))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("co_await run(Options{.name = n});", "a braced value"),
        ("co_await run({n, m});", "a braced value"),
        ("co_return co_await run(first, Options{n});", "a braced value"),
        ("co_await spawn([this] { go(); });", "a lambda literal"),
        ("co_await spawn(pool,\n    [this, x = y](int a) mutable { go(a); });", "a lambda literal"),
        ("if (co_await taken()) co_return;", "in a condition"),
        ("if (!done && !co_await out.write(x)) { go(); }", "in a condition"),
        ("while (co_await out.write(x)) {\n  }", "in a condition"),
    ],
)
def test_what_the_compiler_miscompiles_is_found(tree: pathlib.Path, body: str, expected: str) -> None:
    found = complaints(tree, **in_master(body))
    assert len(found) == 1, found
    assert expected in found[0]
    assert "first" in found[0]  # the remedy: name it first


@pytest.mark.parametrize(
    "body",
    [
        "Options options{.name = n};\n  co_await run(std::move(options));",
        "auto work = [this] { go(); };\n  const auto x = co_await run(std::move(work));",
        "if (auto x = co_await run(); !x) {\n    Options y{1};\n  }",
        "const auto x = co_await run(values[index]);\n  if (x) { go({1, 2}); }",
        "for (const auto& x : list) {\n    co_await run(x);\n  }\n  Options o{1};",
        "// co_await run({1, 2});",
    ],
)
def test_what_the_compiler_understands_is_left_alone(tree: pathlib.Path, body: str) -> None:
    assert complaints(tree, **in_master(body)) == []


def test_a_page_that_promises_tests_names_those_that_exist(tree: pathlib.Path) -> None:
    grow(tree, {"tests/a_test.cpp": "TEST(Logs, AreKeptAsTheyAre) {}\n"})
    grow(tree, {"tests/e2e/test_kill.py": "def test_a_kill_changes_nothing() -> None: ...\n"})
    page = "docs/reference/defects.md"
    fine = (
        "| V1 | `tests/a_test.cpp` `Logs.AreKeptAsTheyAre`, `tests/e2e/test_kill.py` `test_a_kill_changes_nothing` |\n"
    )
    assert complaints(tree, page, fine) == []
    assert complaints(tree, "docs/reference/invariants.md", "| `Logs.AreKeptAsTheyAre` | `Part/Logs.*` |\n") == []
    (elsewhere,) = complaints(tree, page, "`tests/e2e/test_kill.py` `Logs.AreKeptAsTheyAre`\n")
    assert "docs/reference/defects.md:1: `Logs.AreKeptAsTheyAre` is no test in tests/e2e/test_kill.py" in elsewhere
    assert "`test_gone` is no test" in complaints(tree, page, "\n`test_gone`\n")[0]
    assert "`src/gone_test.cpp` is no file" in complaints(tree, page, "`src/gone_test.cpp`\n")[0]


def test_a_page_may_name_files_from_any_folder_and_of_users(tree: pathlib.Path) -> None:
    links = "[a](../src/base) [b](../src/base/a.cpp#l1) [c](https://example.com/a.h)\n"
    assert complaints(tree, "docs/a.md", links + "`base/a.cpp` `src/base/` `x/y` `model_def.py`\n") == []


def test_tests_of_pure_modules_may_read_files(tree: pathlib.Path) -> None:
    assert complaints(tree, "src/base/a_test.cpp", "#include <fstream>\n") == []


def test_words_in_comments_and_texts_are_no_calls(tree: pathlib.Path) -> None:
    assert complaints(tree, "src/base/a.cpp", '// the time (in s)\nauto a = "rand ()";\n') == []


def test_a_generated_file_may_be_longer_than_the_limit(tree: pathlib.Path) -> None:
    long = "x = 1\n" * (tidy.LIMIT + 1)
    grow(tree, {"webui/src/generated/a.ts": long, "webui/src/written/a.ts": long})
    assert [complaint.file for complaint in tidy.check(tree)] == ["webui/src/written/a.ts"]


def test_a_folder_of_too_many_files_is_named(tree: pathlib.Path) -> None:
    grow(tree, {f"webui/src/a/part{number}.ts": "" for number in range(tidy.FILES_MAX)})
    assert tidy.check(tree) == []
    grow(tree, {f"webui/src/a/part{number}.test.ts": "" for number in range(9)})
    assert tidy.check(tree) == []
    assert "has 31 files" in complaints(tree, "webui/src/a/one_more.ts", "")[0]


CIRCLES = {
    "python": {
        "python/determined/a.py": "from determined import b\n",
        "python/determined/b.py": "def f() -> None:\n    from . import a\n",
        "python/determined/__init__.py": "",
    },
    "typescript": {
        "webui/src/a.ts": 'import { b } from "./b";\n',
        "webui/src/b.tsx": 'import type { A } from "./a";\n',
    },
    "c++": {
        "src/base/a.h": '#include "det/base/b.h"\n',
        "src/base/b.h": '#include "det/base/a.h"\n',
    },
}


@pytest.mark.parametrize("language", CIRCLES)
def test_a_circle_of_imports_is_found_in_each_language(tree: pathlib.Path, language: str) -> None:
    grow(tree, CIRCLES[language])
    found = [str(complaint) for complaint in tidy.check(tree)]
    assert len(found) == 1, found
    assert "in a circle: " in found[0]


def test_imports_for_types_alone_are_no_circle_in_python(tree: pathlib.Path) -> None:
    for_types = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from determined import a\n"
    grow(tree, {**CIRCLES["python"], "python/determined/b.py": for_types})
    assert tidy.check(tree) == []
