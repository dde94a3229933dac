"""Runs scripts in a fork of a warm worker, which has imported PyTorch, as a new interpreter would run them."""

from __future__ import annotations

import builtins
import logging
import os
import random
import sys
import types
from collections.abc import Mapping, Sequence
from importlib.machinery import SourceFileLoader
from typing import Any

from determined import _failure
from determined._run import _launch
from determined.exec import _output

_SHELL = set("|&;<>()$`\\\"'*?[]#~!{}\n")
READ_AT_START = (
    *("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "NUMEXPR_", "VECLIB_", "NPY_", "ATEN_", "TORCH_", "PYTORCH_"),
    *("PYTHON", "LD_", "MALLOC_", "GLIBC_", "LC_", "LANG"),
)
_SEED_BYTES = 64
_TAKEN_OVER = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "PYTHONPATH", "TORCH_CPP_LOG_LEVEL"}


def words_of(entrypoint: Any) -> list[str] | None:
    """The script and its arguments, if the entry point is just ``python3 script.py …``."""
    words = entrypoint
    if isinstance(entrypoint, str):
        words = [] if _SHELL & set(entrypoint) else entrypoint.split()
    if not isinstance(words, list) or len(words) < 2 or words[0] not in ("python", "python3"):
        return None
    words = [str(word) for word in words[1:]]
    return words if words[0].endswith(".py") and not words[0].startswith("-") else None


def started_alike(environment: Mapping[str, str], worker: Mapping[str, str]) -> bool:
    """Whether everything that interpreters and libraries read at their start is as the worker read it."""
    names = {name for name in (*environment, *worker) if name.startswith(READ_AT_START)} - _TAKEN_OVER
    return all(environment.get(name) == worker.get(name) for name in names)


def run(words: Sequence[str]) -> int:
    """Runs the script in this process as ``__main__``; returns the status with which ``python3`` would have ended.

    The working directory and ``PATH`` are already those of the script. Flushing the output and waiting for threads is
    left to ``_ending``.
    """
    from determined.core import _searcher  # the worker has imported it

    first = os.environ.get("DET_SEARCHER_OPERATION")
    _searcher.begin_with(int(first) if first else None)
    path = os.path.abspath(words[0])
    _as_new(os.path.dirname(path))
    sys.argv = list(words)
    module = types.ModuleType("__main__")
    loader = SourceFileLoader("__main__", path)
    module.__dict__.update(__file__=path, __loader__=loader, __builtins__=builtins, __annotations__={}, __cached__=None)
    sys.modules["__main__"] = module
    try:
        exec(compile(loader.get_data(path), path, "exec"), module.__dict__)
    except SystemExit as end:
        return _status(end.code)
    except BaseException as error:
        sys.stdout.flush()
        error = error.with_traceback(_failure.without_ours(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr, flush=True)
    return 1


def set_level() -> None:
    """Sets the level of logging that a new interpreter has."""
    _output.set_level(logging.WARNING)


def _as_new(directory: str) -> None:
    """Removes what the worker has left behind and a new interpreter would not have."""
    sys.path[:] = [directory, *(entry for entry in sys.path if entry not in ("", os.getcwd(), directory))]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, write_through=True)  # type: ignore[union-attr]
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    set_level()
    random.seed()
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(numpy.frombuffer(os.urandom(_SEED_BYTES), numpy.uint32))  # without one, it takes longer
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.seed()
        torch.set_num_threads(_launch.threads(os.environ))
