"""Finds import cycles in Python, TypeScript and C++.

Files in a cycle can only be understood, tested and moved together. In Python, imports inside functions count, and those
under `TYPE_CHECKING` do not. In TypeScript, type imports count. In C++, only headers are checked.
"""

from __future__ import annotations

import ast
import graphlib
import pathlib
import posixpath
import re
from collections.abc import Iterable, Iterator

Graph = dict[str, set[str]]


def circle(graph: Graph) -> list[str]:
    """A circle of the graph, [a, b, a], or [] where there is none."""
    try:
        graphlib.TopologicalSorter({file: sorted(graph[file]) for file in sorted(graph)}).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


def python_graph(root: pathlib.Path, names: Iterable[str], package: str = "python/determined") -> Graph:
    """Names below `package` whose imports are read."""
    folder = posixpath.dirname(package)
    modules: dict[str, str] = {}
    for name in names:
        if name.startswith(package + "/") and name.endswith((".py", ".pyi")):
            module = name[len(folder) + 1 :].rsplit(".", 1)[0].replace("/", ".")
            modules[module.removesuffix(".__init__")] = name
    graph: Graph = {}
    for module, name in modules.items():
        inside = module if name.endswith("__init__.py") else module.rpartition(".")[0]
        reached = (modules.get(wanted) for wanted in _imported(ast.parse((root / name).read_text()), inside, modules))
        graph[name] = {other for other in reached if other is not None and other != name}
    return graph


def _imported(tree: ast.AST, package: str, modules: dict[str, str]) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                yield from _imported(other, package, modules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base
        else:
            yield from _imported(node, package, modules)


def typescript_graph(root: pathlib.Path, names: Iterable[str]) -> Graph:
    files = {name for name in names if name.startswith("webui/src/") and name.endswith((".ts", ".tsx"))}
    graph: Graph = {name: set() for name in files}
    for name in files:
        text = (root / name).read_text()
        for wanted in re.findall(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""", text):
            base = posixpath.normpath(posixpath.join(posixpath.dirname(name), wanted))
            for candidate in (base, base + ".ts", base + ".tsx", base + "/index.ts", base + "/index.tsx"):
                if candidate in files and candidate != name:
                    graph[name].add(candidate)
    return graph


def cxx_graph(root: pathlib.Path, names: Iterable[str]) -> Graph:
    """Headers of src/. A factory's source includes what it makes, so a header does not count with its source."""
    headers = {name for name in names if name.startswith("src/") and name.endswith(".h")}
    graph: Graph = {}
    for name in headers:
        wanted = re.findall(r'^#include "det/([^"]+)"', (root / name).read_text(), re.MULTILINE)
        graph[name] = {f"src/{other}" for other in wanted} & headers - {name}
    return graph
