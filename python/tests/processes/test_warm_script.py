"""A Python script that is a trial's entry point runs in a fork of the warm worker as a new interpreter would run it."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import pytest
from small_master import SmallMaster
from test_exec import environment, run_cold
from warm_worker import Ended, WarmWorker

from determined.exec import _warm_script

SCRIPT = """
import atexit, json, logging, multiprocessing, os, random, sys, threading
warm = "torch" in sys.modules
import numpy, torch
class Kind:
    pass
def square(x):
    return x * x
def facts():
    return {
        "argv": sys.argv,
        "name": __name__,
        "file": __file__,
        "spec": __spec__ is None,
        "main": sys.modules["__main__"].square is square,
        "kind": Kind.__module__,
        "path": sys.path[0],
        "directory": os.getcwd(),
        "colour": os.environ.get("COLOUR"),
        "threads": torch.get_num_threads(),
        "handlers": len(logging.getLogger().handlers),
        "level": logging.getLogger().level,
        "alive": threading.active_count(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
if __name__ == "__main__":
    what = sys.argv[1]
    if what == "facts":
        print(json.dumps([warm, facts(), [random.random(), float(numpy.random.rand()), float(torch.rand(1))]]))
    elif what == "fails":
        def deep():
            raise KeyError("nothing of that name")
        deep()
    elif what == "leaves":
        sys.exit(3)
    elif what == "complains":
        sys.exit("not with me")
    elif what == "late":
        atexit.register(print, "last word")
        threading.Timer(0.2, print, ("from a thread",)).start()
    elif what == "spawns":
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            print(pool.map(square, [2, 3]))
"""


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "train.py").write_text(SCRIPT)
    return tmp_path


def variables(master: SmallMaster, place: pathlib.Path, entrypoint: Any, **more: str) -> dict[str, str]:
    """An agent starts workers and tasks with the same environment, but for what is the task's."""
    values = environment(master, place, config={"entrypoint": entrypoint})
    del values["PYTHONDONTWRITEBYTECODE"]
    return {**{n: v for n, v in os.environ.items() if n.startswith(_warm_script.READ_AT_START)}, **values, **more}


@pytest.fixture
def both(worker: WarmWorker, place: pathlib.Path) -> Any:
    master = SmallMaster([1])

    def run(entrypoint: Any, **more: str) -> tuple[Any, Ended]:
        values = variables(master, place, entrypoint, **more)
        return run_cold(values), worker.run(values, place / f"task-{len(list(place.iterdir()))}")

    yield run
    master.close()


@pytest.mark.parametrize(
    "entrypoint", ["python3 train.py facts --rate=0.1", ["python", "train.py", "facts", "two words"]]
)
def test_a_script_finds_what_it_would_find_in_a_new_interpreter(both: Any, entrypoint: Any) -> None:
    cold, forked = both(entrypoint, COLOUR="of the task", OMP_NUM_THREADS="2")
    assert cold.returncode == 0, cold.stderr
    assert forked.returncode == 0, forked.stderr
    fresh, expected, chance = json.loads(cold.stdout)
    warm, found, another_chance = json.loads(forked.stdout)
    assert (fresh, warm) == (False, True)
    assert found == expected
    assert found["threads"] == 2 and found["colour"] == "of the task"
    assert all(one != other for one, other in zip(chance, another_chance, strict=True))


def test_a_script_in_a_fork_need_not_ask_for_the_operation_that_it_starts_with(
    worker: WarmWorker, place: pathlib.Path
) -> None:
    (place / "definition" / "search.py").write_text(
        "from determined import core\n"
        "with core.init() as context:\n"
        "    for operation in context.searcher.operations():\n"
        "        print(operation.length)\n"
        "        operation.report_completed(1.0)\n"
    )
    for start, first in [(run_cold, 0), (lambda values: worker.run(values, place / "task"), 1)]:
        master = SmallMaster([5, 7])
        ended = start(variables(master, place, "python3 search.py", DET_SEARCHER_OPERATION="5"))
        master.close()
        assert ended.stdout == "5\n7\n", ended.stderr
        assert master.known_operations()[0] == first


def test_every_fork_draws_other_random_numbers(worker: WarmWorker, place: pathlib.Path) -> None:
    master = SmallMaster([1])
    values = variables(master, place, "python3 train.py facts")
    drawn = [json.loads(worker.run(values, place / f"task-{i}").stdout)[2] for i in range(2)]
    master.close()
    assert all(one != other for one, other in zip(*drawn, strict=True))


@pytest.mark.parametrize(
    ("what", "status"), [("fails", 1), ("leaves", 3), ("complains", 1), ("late", 0), ("spawns", 0)]
)
def test_a_script_ends_as_in_a_new_interpreter(both: Any, what: str, status: int) -> None:
    cold, forked = both(f"python3 train.py {what}")
    assert (cold.returncode, forked.returncode) == (status, status), forked.stderr
    assert (forked.stdout, forked.stderr) == (cold.stdout, cold.stderr)


def test_other_interpreter_settings_need_a_new_interpreter(both: Any) -> None:
    _, forked = both("python3 train.py facts", PYTHONOPTIMIZE="1")
    assert json.loads(forked.stdout)[0] is False
    _, forked = both("python3 absent.py")
    assert forked.returncode == 2 and "can't open file" in forked.stderr


@pytest.mark.parametrize(
    ("entrypoint", "words"),
    [
        ("python3 train.py", ["train.py"]),
        ("python train.py --lr=0.1  x", ["train.py", "--lr=0.1", "x"]),
        (["python3", "train.py", "a b"], ["train.py", "a b"]),
        (["python3", "sub/train.py", 5], ["sub/train.py", "5"]),
        ("python3 -u train.py", None),
        ("python3 -m train", None),
        ("python3 train.py > log", None),
        ("python3 train.py $HOME", None),
        ("RATE=1 python3 train.py", None),
        ("/usr/bin/python3 train.py", None),
        ("torchrun train.py", None),
        ("python3", None),
        (None, None),
        ({"a": 1}, None),
    ],
)
def test_only_a_plain_call_of_a_script_runs_in_the_fork(entrypoint: Any, words: list[str] | None) -> None:
    assert _warm_script.words_of(entrypoint) == words
