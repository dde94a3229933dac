"""What a worker of a launch layer prints: its lines have its rank, and nothing else about it changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from determined.launch import _ranked


def start(program: str, *, rank: int = 1, size: int = 2, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", _ranked.__file__, sys.executable, "-S", "-c", program],
        env={"RANK": str(rank), "WORLD_SIZE": str(size)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


@pytest.mark.parametrize(
    ("pieces", "lines", "last"),
    [
        ([b"one\n"], b"[rank=3] one\n", b""),
        ([b"on", b"e\ntw"], b"[rank=3] one\n", b"[rank=3] tw\n"),
        ([b"\n", b"a\r\n"], b"[rank=3] \n[rank=3] a\r\n", b""),
        ([b"a\r", b"\nb\n"], b"[rank=3] a\r\n[rank=3] b\n", b""),
        ([b"\r 1%", b"\r 2%", b"\n"], b"\r[rank=3]  1%\r[rank=3]  2%\n", b""),
        ([b"\xff\x00\n\xc3"], b"[rank=3] \xff\x00\n", b"[rank=3] \xc3\n"),
        ([], b"", b""),
    ],
)
def test_each_whole_line_gets_the_prefix(pieces: list[bytes], lines: bytes, last: bytes) -> None:
    stream = _ranked.Lines(b"[rank=3] ")
    assert b"".join(stream.take(piece) for piece in pieces) == lines
    assert stream.end() == last


def test_a_line_without_an_end_is_cut() -> None:
    stream = _ranked.Lines(b"> ")
    assert stream.take(b"x" * 70000) == b"> " + b"x" * 65536 + b"\n"
    assert stream.end() == b"> " + b"x" * 4464 + b"\n"


def test_both_streams_have_the_rank_and_the_status_is_the_workers() -> None:
    process = start("import os; os.write(1, b'out'); os.write(2, b'bad\\xff\\n'); os._exit(7)")
    assert process.communicate(timeout=20) == (b"[rank=1] out\n", b"[rank=1] bad\xff\n")
    assert process.returncode == 7


def test_a_worker_that_is_alone_prints_as_it_is() -> None:
    assert start("print('out')", rank=0, size=1).communicate(timeout=20) == (b"out\n", b"")


def test_signals_reach_the_worker_and_end_it_as_they_would() -> None:
    handles = "import os, signal, time; signal.signal(15, lambda *_: os.write(1, b'last words') and os._exit(3))"
    process = start(f"{handles}; os.write(1, b'ready\\n'); time.sleep(60)", start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"[rank=1] ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    assert (process.stdout.read(), process.wait(20)) == (b"[rank=1] last words\n", 3)
    process = start("import os; print('x', flush=True); os.kill(os.getpid(), 9)")
    assert process.communicate(timeout=20)[0] == b"[rank=1] x\n"
    assert process.returncode == -signal.SIGKILL


def test_an_unfinished_line_does_not_wait_for_the_workers_children() -> None:
    process = start("import os, time; os.write(1, b'half'); os.fork() or time.sleep(5)")
    assert process.stdout is not None
    process.wait(20)
    ended = time.monotonic()
    assert process.stdout.readline() == b"[rank=1] half\n"
    assert time.monotonic() - ended < 2
    process.stdout.close()


def test_a_worker_has_no_child_that_it_did_not_make() -> None:
    process = start("import os\ntry: os.wait()\nexcept ChildProcessError: print('none')")
    assert process.communicate(timeout=20)[0] == b"[rank=1] none\n"


def test_long_lines_of_several_ranks_do_not_mix() -> None:
    read, write = os.pipe()
    program = "import os\nfor _ in range(40): print(os.environ['RANK'] * 20000, flush=True)"
    processes = [start(program, rank=rank, stdout=write) for rank in range(2)]
    os.close(write)
    with os.fdopen(read, "rb") as lines:
        said = lines.read().splitlines()
    assert [process.wait(20) for process in processes] == [0, 0]
    assert sorted(set(said)) == [b"[rank=%d] " % rank + b"%d" % rank * 20000 for rank in range(2)]
    assert len(said) == 80


def test_a_command_that_cannot_be_run_is_told() -> None:
    process = subprocess.run(
        [sys.executable, "-I", "-S", _ranked.__file__, "/nothing/here"],
        capture_output=True, text=True, timeout=20, env={"RANK": "1", "WORLD_SIZE": "2"},
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (
        127,
        "[rank=1] /nothing/here cannot be run: No such file or directory\n",
    )
