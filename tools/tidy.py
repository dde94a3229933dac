"""Checks the rules of this tree that no compiler checks. Each complaint names the remedy.

Usage: python tools/tidy.py [ROOT]     prints `file:line: what is wrong; what to do`, ends with 1 if there is any

Needs nothing but Python. The rules: which module may include which (docs/architecture.md), no I/O in pure modules,
no coroutine code that g++ 12 miscompiles, the size of files and folders, a README for each module, names of tests,
paths in the documentation that exist, nothing that exists on one machine only.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import circles
import coroutines

PURE = (
    "base",
    "access",
    "config",
    "search",
    "scheduler",
    "elastic",
    "experiment",
    "task",
    "api",
    "cluster",
    "forecast",
    "media",
)
_IO = ("logging", "http", "checkpoint", "store")
MAY_INCLUDE: dict[str, tuple[str, ...]] = {
    "base": (),
    "access": ("base",),
    "config": ("base",),
    "search": ("base", "config"),
    "scheduler": ("base",),
    "elastic": ("base",),
    "experiment": ("base", "config", "search"),
    "api": ("base", "config"),
    "task": ("base",),
    "cluster": ("base", "config", "search", "scheduler", "elastic", "experiment", "task", "api"),
    "forecast": ("base", "config", "search", "scheduler", "elastic", "experiment", "task", "api", "cluster"),
    "media": ("base",),
    "logging": (),
    "http": ("base", "logging"),
    "checkpoint": ("base", "config"),
    "store": ("base", "config", "experiment", "task"),
    "cli": ("base", "config", "api", "http"),
    "agent": ("base", "logging", "config", "api", "http"),
    "trial": ("base", "config", "api", "http", "checkpoint"),
    "searcher": ("base", "cli"),  # of cli the session and the packing of directories
    "pytorch": ("base", "config", "search", "checkpoint", "trial", "agent"),  # of agent the shim alone
    "master": (*PURE, *_IO),
    "det": (*PURE, *_IO, "cli", "agent", "trial", "pytorch", "master"),
}

# In a pure module time, chance and the outside world come in as arguments.
IMPURE = {
    r"#include <(thread|mutex|shared_mutex|random|condition_variable|future|atomic)>": "take it as an argument",
    r"#include <(fstream|iostream|filesystem|locale)>": "let the caller read, write and format",
    r"#include <(boost/asio|boost/beast|sqlite3|libpq|torch|sys/|unistd|fcntl|netinet|poll|spdlog)": (
        "I/O belongs in http, store, checkpoint or a program"
    ),
    r"_clock::now\s*\(|(?<![\w.:>])(time|clock|rand|getenv|fopen|printf|system)\s*\(|\bstd::(time|clock|rand|getenv|"
    r"fopen|printf|system)\s*\(": "ask the caller",
    r"for\s*\([^;)]*:\s*\w*unordered": "iterate over something ordered: replay depends on the order",
}
EVERYWHERE = {
    r"\bFIX" r"ME\b": "fix it, or file an issue and write TODO(#123)",
    r"\bTO" r"DO\b(?!\(#\d+\))": "name the issue: TODO(#123)",
    r"gtest/gtest_" r"prod\.h|FRIEND" r"_TEST": "test through the public interface",
    r"(?<![\w>}/.)-])/(wo" r"rk|ho" r"me/\w+|ro" r"ot)/(?!\.{3})": "no path of one machine: take it from an option",
    r"/tmp/(build|slot)\b": "no path of one machine: name the preset's build folder",
    r"https?://[\w.-]*\b(pypi|npm|npmjs|registry|artifactory|nexus|goproxy|mirror)[\w.-]*\b[:/]"
    r"|\b(PIP_INDEX[_]URL|NPM_CONFIG[_]REGISTRY|--index[-]url)\b": "no registry host: each client knows its own",
}
LIMIT = 500
GENERATED = re.compile(r"/(bindings|generated)/|\.golden\.")  # by a program, and as long as that makes them
SIZED = ("src/", "python/", "webui/src/", "tests/", "bench/", "tools/")
CODE = {".cpp", ".h", ".py", ".ts", ".tsx", ".mjs", ".css", ".sql"}


class Complaint(NamedTuple):
    file: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}; {self.remedy}"


def without_comments_and_strings(text: str) -> str:
    """The same text with comments and literals blanked, so that positions and lines stay."""

    def blank(match: re.Match[str]) -> str:
        if match[0][0] == "/":
            return re.sub(r"[^\n]", " ", match[0])
        return '"' + re.sub(r"[^\n]", "_", match[0][1:-1]) + '"'

    literal = r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/'
    return re.sub(literal, blank, text)


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def included_modules(name: str, text: str) -> Iterator[Complaint]:
    module = name.split("/")[1]
    for match in re.finditer(r'^#include [<"]det/(\w+)/', text, re.MULTILINE):
        other, line = match[1], line_at(text, match.start())
        if other != module and other not in MAY_INCLUDE.get(module, ()):
            allowed = ", ".join(MAY_INCLUDE.get(module, ())) or "nothing"
            yield Complaint(name, line, f"{module} includes {other}, but may include only: {allowed}",
                            "move the code to where both may see it, or pass what it needs as an argument")  # fmt: skip
    for match in re.finditer(r"^#include <(torch|ATen|c10)/", text, re.MULTILINE):
        if module != "pytorch":
            yield Complaint(name, line_at(text, match.start()), f"{module} includes Torch", "only src/pytorch may")


def is_test(name: str) -> bool:
    return re.search(r"(_test\.cpp|/testing\.(h|cpp))$", name) is not None


def impurities(name: str, text: str) -> Iterator[Complaint]:
    module = name.split("/")[1]
    if module not in PURE or is_test(name):
        return
    for pattern, remedy in IMPURE.items():
        for match in re.finditer(pattern, text):
            yield Complaint(name, line_at(text, match.start()), f"{module} is pure: `{match[0].strip()}`", remedy)


def names_of_tests(name: str, text: str) -> Iterator[Complaint]:
    remedy = "say in a sentence what holds: StoppedTrialIsNeverStoppedAgain, test_a_stopped_trial_stays_stopped"
    if name.endswith(".cpp"):
        for match in re.finditer(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text, re.MULTILINE):
            words = re.findall(r"[A-Z][a-z]*|\d+", match[1].removesuffix("Test") + match[2])
            ill_formed = "_" in match[2] or not match[2][0].isupper() or re.match(r"Tests?(\d)", match[2])
            if ill_formed or len(words) < 3:
                yield Complaint(name, line_at(text, match.start()), f"`{match[1]}.{match[2]}` is no sentence", remedy)
    elif re.search(r"(^|/)(test_\w+|\w+_test)\.py$", name):
        for match in re.finditer(r"^def (test_\w*)\(", text, re.MULTILINE):
            if len(match[1].split("_")) < 3:
                yield Complaint(name, line_at(text, match.start()), f"`{match[1]}` is no sentence", remedy)


def build_files(root: pathlib.Path, names: list[str]) -> Iterator[Complaint]:
    modules = sorted({name.split("/")[1] for name in names if name.startswith("src/") and name.count("/") > 1})
    for module in modules:
        folder = f"src/{module}"
        if module not in MAY_INCLUDE:
            yield Complaint(folder, 1, f"{module} has no row in the table of modules",
                            "add one here and in docs/architecture.md, and write down why it is needed")  # fmt: skip
        if f"{folder}/README.md" not in names:
            yield Complaint(folder, 1, "has no README.md", "write one screen: what it does, its words, what to read")
        elif (root / folder / "README.md").read_text().count("\n") > 60:
            yield Complaint(f"{folder}/README.md", 60, "is longer than a screen", "the rest belongs in the headers")
        build = f"{folder}/CMakeLists.txt"
        listed = (root / build).read_text() if build in names else ""
        rooms = "".join(
            (root / name).read_text() for name in names if re.fullmatch(rf"{folder}/\w+/CMakeLists\.txt", name)
        )
        for name in names:
            if re.fullmatch(rf"{folder}/(\w+/)*\w+\.cpp", name) and name.rsplit("/", 1)[1] not in listed + rooms:
                yield Complaint(name, 1, "is built by nobody", f"list it in {build}, or delete it")
        deps = re.search(r"\bDEPS\s+([a-z_ \n]+)", listed)
        for dep in deps[1].split() if deps else []:
            if not dep.startswith(f"{module}_") and dep not in MAY_INCLUDE.get(module, ()):  # a room of its own
                yield Complaint(build, line_at(listed, deps.start() if deps else 0), f"{module} depends on {dep}",
                                "the table of modules forbids it: pass what it needs as an argument")  # fmt: skip


def check_text(name: str, text: str) -> Iterator[Complaint]:
    for pattern, remedy in EVERYWHERE.items():
        for match in re.finditer(pattern, text):
            yield Complaint(name, line_at(text, match.start()), f"`{match[0]}`", remedy)
    suffix = pathlib.PurePosixPath(name).suffix
    sized = suffix in CODE and name.startswith(SIZED) and not GENERATED.search(name)
    if sized and (lines := text.count("\n")) > LIMIT:
        yield Complaint(name, LIMIT, f"has {lines} lines, the limit is {LIMIT}", "give each idea its own file")
    if suffix in {".h", ".cpp"}:
        code = without_comments_and_strings(text)
        if name.startswith("src/") and name.count("/") > 1:
            yield from included_modules(name, text)
            yield from impurities(name, code)
        for position, what, remedy in coroutines.traps(code):
            yield Complaint(name, line_at(text, position), what, remedy)
    yield from names_of_tests(name, text)


PROMISES = ("docs/reference/defects.md", "docs/reference/invariants.md")


def tests_in(name: str, text: str) -> Iterator[str]:
    """`Suite.Name` and `test_name` of what the file defines."""
    if name.endswith(".cpp"):
        for match in re.finditer(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text, re.MULTILINE):
            yield f"{match[1]}.{match[2]}"
    elif name.endswith(".py"):
        for match in re.finditer(r"^def (test_\w*)\(", text, re.MULTILINE):
            yield match[1]


def named_tests(root: pathlib.Path, names: list[str]) -> Iterator[Complaint]:
    """Pages that promise tests name those that exist; the list of defects in the file that it names before them."""
    known: dict[str, set[str]] = {}
    for name in names:
        if re.search(r"(_test\.cpp|(^|/)test_\w+\.py|_test\.py)$", name):
            known[name] = set(tests_in(name, (root / name).read_text("utf-8", "replace")))
    everything = set().union(*known.values()) if known else set()
    remedy = "name the test that shows it, or write it"
    for page in set(PROMISES) & set(names):
        for number, line in enumerate((root / page).read_text("utf-8").split("\n"), 1):
            file = ""
            for match in re.finditer(r"`([\w./]+?)`", line):
                word = match[1]
                if word.endswith((".py", ".cpp")) and "/" in word:
                    file = word if page.endswith("defects.md") else ""
                elif re.fullmatch(r"(\w+/)?[A-Z]\w*\.[A-Z]\w*|test_\w+", word):
                    test = word.rsplit("/", 1)[-1]
                    if test not in (known.get(file, set()) if file else everything):
                        yield Complaint(page, number, f"`{word}` is no test{f' in {file}' if file else ''}", remedy)


def named_files(root: pathlib.Path, names: list[str]) -> Iterator[Complaint]:
    """Links and paths in backquotes that lead nowhere: `src/…`, `folder/file.cpp`; in READMEs also `file.cpp`."""
    known = {name for file in names for name in (file, *map(str, pathlib.PurePosixPath(file).parents))}
    tails = {"/".join(name.split("/")[first:]) for name in known for first in range(name.count("/") + 1)}
    roots = tuple({name.split("/")[0] + "/" for name in names if "/" in name})
    remedy = "correct its name"
    for page in (name for name in names if name.endswith(".md")):
        text = (root / page).read_text("utf-8", "replace")
        for match in re.finditer(r"\]\(([\w./-]+)(?:#[^)\s]*)?\)", text):
            if os.path.normpath(pathlib.PurePosixPath(page).parent / match[1]) not in known:
                yield Complaint(page, line_at(text, match.start()), f"the link to `{match[1]}` leads nowhere", remedy)
        for match in re.finditer(r"`(\w[\w.-]*/[\w./-]*)`", text):
            path = match[1].rstrip("/")
            ours = match[1].startswith(roots) or pathlib.PurePosixPath(path).suffix in CODE | {".md"}
            if ours and path not in tails:
                yield Complaint(page, line_at(text, match.start()), f"`{match[1]}` is no file", remedy)
        if not page.endswith("README.md"):
            continue
        for match in re.finditer(r"`([\w-]+\.(?:cpp|h|py|ts|tsx|mjs))`", text):
            if match[1] not in tails:
                yield Complaint(page, line_at(text, match.start()), f"`{match[1]}` is no file", remedy)


def files_of(root: pathlib.Path) -> list[str]:
    """What git knows or would add; without git, all files."""
    listing = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    found = subprocess.run(listing, capture_output=True, text=True, check=False) if (root / ".git").exists() else None
    if found is None or found.returncode != 0:
        return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return sorted(name for name in set(found.stdout.split("\0")) if name and (root / name).is_file())


FILES_MAX = 30  # in a folder of code, without unit tests


def full_folders(names: list[str]) -> Iterator[Complaint]:
    """Folders of hand-written code that hold so many files that nobody reads their names."""
    count: dict[str, int] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        if pathlib.PurePosixPath(file).suffix in CODE and name.startswith(SIZED) and not GENERATED.search(name):
            count[folder] = count.get(folder, 0) + (not re.search(r"_test\.cpp$|\.test\.tsx?$", file))
    for folder, files in count.items():
        if files > FILES_MAX:
            yield Complaint(folder, 1, f"has {files} files, the limit is {FILES_MAX}", "divide it into rooms")


def import_circles(root: pathlib.Path, names: list[str]) -> Iterator[Complaint]:
    for graph in (
        circles.python_graph(root, names), circles.typescript_graph(root, names), circles.cxx_graph(root, names)
    ):  # fmt: skip
        if found := circles.circle(graph):
            yield Complaint(found[0], 1, f"files import each other in a circle: {' -> '.join(found)}",
                            "move what both need to a file of its own")  # fmt: skip


def check(root: pathlib.Path) -> list[Complaint]:
    names = files_of(root)
    complaints = [
        *build_files(root, names),
        *named_tests(root, names),
        *named_files(root, names),
        *full_folders(names),
        *import_circles(root, names),
    ]
    for name in names:
        data = (root / name).read_bytes()
        if b"\0" not in data[:4096]:
            complaints += check_text(name, data.decode("utf-8", "replace"))
    return sorted(complaints)


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
    complaints = check(root)
    for complaint in complaints:
        print(complaint)
    print(f"tidy: {len(complaints)} complaints" if complaints else "tidy: nothing to complain about")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
