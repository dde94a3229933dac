"""A process that runs several trials of an experiment, or whose forks do: each finds what the first one found."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from small_master import SmallMaster
from test_warm_script import variables
from warm_worker import Ended, WarmWorker, lay_task, spooled

from determined.exec import _forks, _leftovers, _reuse

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)

MODEL = """
import os
import torch
import helper
from trials import EverythingTrial
helper.count += 1
print(os.getpid(), "helper", helper.count, "rate", os.environ["COLOUR"], os.listdir("."))
open("left.txt", "w").close()
torch.set_default_dtype(torch.float32)
AT_IMPORT = torch.rand(3).tolist()
class MyTrial(EverythingTrial):
    pass
"""
SCRIPT = """
import atexit, os, signal, sys, threading
import torch
import helper
helper.count += 1
print(os.getpid(), "helper", helper.count, "argv", sys.argv[1:], os.environ["COLOUR"], sorted(os.listdir(".")),
    os.environ.get("EXTRA", ""), os.getcwd())
print(torch.get_default_dtype(), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, hasattr(sys, "leaked"))
os.makedirs("results/deep", exist_ok=True)
open("results/deep/model.bin", "w").write("x")
torch.set_default_dtype(torch.float64)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
atexit.register(print, "bye")
atexit.register(lambda: print("exit function of", os.environ["COLOUR"]))
WHAT = os.environ.get("WHAT", "")
if WHAT == "fails":
    raise RuntimeError("on purpose")
if WHAT == "exits":
    sys.exit(3)
if WHAT == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if WHAT == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
if WHAT == "shares":
    open(f"/dev/shm/left-by-a-test-{os.getpid()}", "w").close()
if WHAT == "waits":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print("waiting", flush=True)
    threading.Event().wait()
if WHAT == "changes":
    open("helper.py", "a").write("\\n# changed")
if WHAT == "thread":
    threading.Thread(target=lambda: threading.Event().wait(0.3)).start()
"""


class Agent:
    """Hands tasks to one process, as an agent does: the socket to which a shim offers it."""

    def __init__(self, place: pathlib.Path) -> None:
        self.path = place / "reuse.sock"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.idle: socket.socket | None = None

    def offered(self, task: pathlib.Path, seconds: float = 60.0) -> bool:
        """Whether the process of the task, when that has ended, waits for another one."""
        self.listener.settimeout(seconds)
        try:
            self.idle, _ = self.listener.accept()
        except TimeoutError:
            return False
        return bool(json.loads(self.idle.recv(1 << 16))["directory"] == str(task))

    def give(self, task: pathlib.Path) -> None:
        assert self.idle is not None
        self.idle.send(json.dumps({"directory": str(task)}).encode())
        self.idle.close()

    def close(self) -> None:
        if self.idle is not None:
            self.idle.close()
        self.listener.close()


@pytest.fixture
def agent(tmp_path: pathlib.Path) -> Iterator[Agent]:
    it = Agent(tmp_path)
    yield it
    it.close()


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "helper.py").write_text("count = 0\n")
    (tmp_path / "definition" / "train.py").write_text(SCRIPT)
    (tmp_path / "definition" / "model_def.py").write_text(MODEL)
    return tmp_path


def prepare(place: pathlib.Path, agent: Agent, master: SmallMaster, name: str, **more: Any) -> pathlib.Path:
    """The directory of a task that may run in a process with others."""
    reuse = more.pop("reuse", True)
    values = variables(master, place, more.pop("entrypoint", "python3 train.py now"), COLOUR=name, **more)
    values["DET_EXPERIMENT_CONFIG"] = json.dumps({**json.loads(values["DET_EXPERIMENT_CONFIG"]), "reuse": reuse})
    task = place / name
    lay_task(values, task, reuse="key", reuse_socket=str(agent.path), reuse_root=str(place / "definition"))
    return task


def run_both(worker: WarmWorker, agent: Agent, place: pathlib.Path, **more: Any) -> tuple[Ended, Ended]:
    """Runs one task, and another in its process."""
    first, second = run_all(worker, agent, place, {"one": more, "two": more})
    return first, second


def run_all(worker: WarmWorker, agent: Agent, place: pathlib.Path, tasks: dict[str, dict[str, Any]]) -> list[Ended]:
    """Runs tasks one after the other, all in the process of the first one."""
    masters = [SmallMaster([9, 16]) for _ in tasks]
    laid = [
        prepare(place, agent, master, name, **more) for master, (name, more) in zip(masters, tasks.items(), strict=True)
    ]
    worker.ask({"directory": str(laid[0])})
    for one, following in itertools.pairwise(laid):
        assert agent.offered(one), worker.wait(one)
        agent.give(following)
    ended = [worker.wait(task) for task in laid]
    for master in masters:
        master.close()
        assert master.numbers() == masters[0].numbers()
    return ended


def test_a_second_script_finds_what_the_first_one_found(worker: WarmWorker, agent: Agent, place: pathlib.Path) -> None:
    first, second = run_both(worker, agent, place)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.splitlines()[0].split()[0] == second.stdout.splitlines()[0].split()[0], "one process"
    assert second.stdout == first.stdout.replace("'one'", "'two'").replace(" one ", " two ").replace("of one", "of two")
    assert "helper 1 argv ['now'] two" in second.stdout
    assert "torch.float32 True False" in second.stdout
    assert second.stdout.endswith("exit function of two\nbye\n")
    assert "results" not in second.stdout


def test_a_second_trial_class_trains_with_the_same_numbers(
    worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    first, second = run_both(worker, agent, place, entrypoint="model_def:MyTrial")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "helper 1 rate two" in second.stdout
    assert "left.txt" not in second.stdout
    assert first.stdout.split()[0] == second.stdout.split()[0]


@pytest.mark.parametrize("what", ["fails", "changes", "thread"])
def test_what_cannot_be_taken_back_ends_the_process(
    what: str, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    master = SmallMaster([9, 16])
    task = prepare(place, agent, master, "one", WHAT=what)
    worker.ask({"directory": str(task)})
    ended = worker.wait(task)
    assert ended.returncode == (1 if what == "fails" else 0), ended.stderr
    assert "exit function of one\nbye\n" in ended.stdout
    assert not agent.offered(task, 0.3)
    master.close()


@pytest.mark.parametrize(
    "entrypoint", ["python3 train.py now", "model_def:MyTrial", ["sh", "-c", "python3 train.py now"]]
)
def test_without_the_setting_every_trial_has_a_fork_of_its_own(
    entrypoint: Any, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    first, second = run_both(worker, agent, place, reuse=False, entrypoint=entrypoint)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.split()[0] != second.stdout.split()[0], "two processes"
    assert "helper 1" in second.stdout and "two" in second.stdout
    assert "left.txt" not in second.stdout and "results" not in second.stdout


@pytest.mark.parametrize("entrypoint", ["python3 train.py now", "model_def:MyTrial"])
def test_a_fork_that_was_made_before_its_trial_came_finds_what_the_first_one_found(
    entrypoint: Any, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    same = {"reuse": False, "entrypoint": entrypoint}
    tasks = {"one": same, "two": {**same, "EXTRA": "of two"}, "red": same}
    first, _, third = run_all(worker, agent, place, tasks)
    assert (first.returncode, third.returncode) == (0, 0), first.stderr + third.stderr
    own = slice(third.stdout.index(" helper"), None)  # after its process number
    there = slice(first.stdout.index(" helper"), None)
    assert third.stdout[own] == first.stdout[there].replace("one", "red")
    assert third.stdout.split()[0] != first.stdout.split()[0]


@pytest.mark.parametrize("killed", [False, True])
def test_a_fork_that_no_trial_needs_ends_with_its_process(
    killed: bool, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    master = SmallMaster([9, 16])
    one, two = (prepare(place, agent, master, name, reuse=False) for name in ("one", "two"))
    shim = worker.ask({"directory": str(one)})["pid"]
    assert agent.offered(one)
    (process,) = children_of(*children_of(shim))
    assert not children_of(process), "most processes run one trial only"
    agent.give(two)
    assert agent.offered(two)
    assert eventually(lambda: len(children_of(process)) == 1)
    (fork,) = children_of(process)
    if killed:
        os.kill(process, signal.SIGKILL)
    else:
        assert agent.idle is not None
        agent.idle.close()
    assert eventually(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in (shim, process, fork)))
    assert worker.wait(two).returncode == 0
    master.close()


def test_a_fork_that_was_killed_before_its_trial_came_is_replaced(
    worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    master = SmallMaster([9, 16])
    one, two, three = (prepare(place, agent, master, name, reuse=False) for name in ("one", "two", "three"))
    shim = worker.ask({"directory": str(one)})["pid"]
    assert agent.offered(one)
    agent.give(two)
    assert agent.offered(two)
    (process,) = children_of(*children_of(shim))
    assert eventually(lambda: len(children_of(process)) == 1)
    (fork,) = children_of(process)
    os.kill(fork, signal.SIGKILL)
    assert eventually(lambda: ") Z " in pathlib.Path(f"/proc/{fork}/stat").read_text())
    agent.give(three)
    ended = worker.wait(three)
    assert ended.returncode == 0, ended.stderr
    assert "exit function of three" in ended.stdout
    master.close()


@pytest.mark.parametrize("times", [1, 200])
def test_signals_may_come_while_a_fork_ends(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = _forks._Fork(lambda: 0)
    waitpid = os.waitpid

    def ended(*arguments: int) -> Any:
        result = waitpid(*arguments)
        for _ in range(times):
            signal.raise_signal(signal.SIGUSR1)  # the fork is no more, and this process still forwards
        return result

    monkeypatch.setattr(os, "waitpid", ended)
    assert fork.run() == 0


def children_of(*pids: int) -> list[int]:
    listed = [pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in pids]
    return [int(child) for text in listed for child in text.split()]


def eventually(happened: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("what", "code", "signal_number"),
    [("fails", 1, 0), ("exits", 3, 0), ("killed", 137, 9), ("crashes", 139, 11), ("changes", 0, 0), ("shares", 0, 0)],
)
def test_the_end_of_a_fork_is_the_end_of_its_trial(
    what: str, code: int, signal_number: int, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    master = SmallMaster([9, 16])
    task = prepare(place, agent, master, "one", WHAT=what, reuse=False)
    worker.ask({"directory": str(task)})
    ended = worker.wait(task)
    assert ended.returncode == code, ended.stderr
    assert json.loads((task / "exit.json").read_text())["signal"] == signal_number
    assert not agent.offered(task, 0.3)
    master.close()
    for left in pathlib.Path("/dev/shm").glob("left-by-a-test-*"):
        left.unlink()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 1), (signal.SIGUSR1, 138)])
def test_signals_reach_the_fork(
    number: signal.Signals, code: int, worker: WarmWorker, agent: Agent, place: pathlib.Path
) -> None:
    master = SmallMaster([9, 16])
    task = prepare(place, agent, master, "one", WHAT="waits", reuse=False)
    shim = worker.ask({"directory": str(task)})["pid"]
    until = time.monotonic() + 30
    while "waiting" not in spooled(task, "stdout") and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(shim, number)
    assert worker.wait(task).returncode == code
    master.close()


def test_a_fork_is_asked_where_it_hangs_only_if_it_can_tell() -> None:
    assert not _forks._catches(os.getpid(), signal.SIGUSR1)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    assert _forks._catches(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_memory_that_is_shared_is_a_trace_that_cannot_be_removed(tmp_path: pathlib.Path) -> None:
    leftovers = _leftovers.Leftovers(str(tmp_path))
    assert leftovers.can_be_removed()
    left = pathlib.Path(f"/dev/shm/left-by-a-test-{os.getpid()}")
    left.write_text("")
    try:
        assert not leftovers.can_be_removed()
    finally:
        left.unlink()


@pytest.fixture
def snapshot(tmp_path: pathlib.Path) -> Iterator[_reuse.Snapshot]:
    register = atexit.register
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "module.py").write_text("value = 1\n")
    it = _reuse.Snapshot(str(tmp_path))
    yield it
    atexit.register = register


def test_new_files_are_removed_and_old_ones_kept(snapshot: _reuse.Snapshot) -> None:
    place = pathlib.Path(snapshot.directory)
    (place / "package" / "new").mkdir()
    (place / "package" / "new" / "deep.txt").write_text("new")
    (place / "link").symlink_to(place / "kept.txt")
    assert snapshot.can_restore()
    snapshot.restore()
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*")) == [
        "kept.txt",
        "package",
        "package/module.py",
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda place: (place / "kept.txt").unlink(),
        lambda place: (place / "kept.txt").write_text("longer than it was"),
        lambda place: os.utime(place / "kept.txt", ns=(1, 1)),
        lambda place: (place / "package" / "module.py").rename(place / "module.py"),
        lambda place: (place / "kept.txt").chmod(0o400),
    ],
)
def test_files_of_the_definition_that_changed_cannot_be_brought_back(change: Any, snapshot: _reuse.Snapshot) -> None:
    change(pathlib.Path(snapshot.directory))
    assert not snapshot.can_restore()


def test_modules_of_the_definition_are_imported_anew_and_libraries_are_kept(
    snapshot: _reuse.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(snapshot.directory)
    sys.modules.pop("this", None)
    import this  # noqa: F401

    import package.module  # type: ignore[import-not-found]

    package.module.value = 2
    snapshot.restore()
    assert "package.module" not in sys.modules
    assert "package" not in sys.modules
    assert "this" in sys.modules
    import package.module as again

    assert again.value == 1
    del sys.modules["package.module"], sys.modules["package"]


def test_modules_that_are_imported_before_others_are_imported_again_are_forgotten_too(
    snapshot: _reuse.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(snapshot.directory)

    sys.modules["json"] = sys.modules.pop("json")  # as a library that loads itself again does
    snapshot.restore()
    assert "package.module" not in sys.modules
    snapshot.restore()
    import package.module as again

    assert again.value == 1
    del sys.modules["package.module"], sys.modules["package"]


def test_signals_and_settings_are_set_back(snapshot: _reuse.Snapshot) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    deterministic, benchmark = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    torch.set_grad_enabled(False)
    torch.set_default_device("meta")
    torch.use_deterministic_algorithms(not deterministic)
    torch.backends.cudnn.benchmark = not benchmark
    sys.stdout, printed = sys.stderr, sys.stdout
    snapshot.restore()
    sys.stdout = printed
    assert signal.getsignal(signal.SIGUSR1) == before
    assert torch.is_grad_enabled()
    assert torch.zeros(1).device.type == "cpu"
    assert torch.are_deterministic_algorithms_enabled() == deterministic
    assert torch.backends.cudnn.benchmark == benchmark


def test_exit_functions_of_the_trial_are_called_at_its_end_and_those_of_libraries_later(
    snapshot: _reuse.Snapshot, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(sys, "called", called, raising=False)
    library = tmp_path_factory.mktemp("site")
    (library / "a_library.py").write_text(
        "import atexit, sys\n"
        "atexit.register(sys.called.append, 'import of the library')\n"
        "def begin():\n    atexit.register(sys.called.append, 'run of the library')\n"
    )
    (pathlib.Path(snapshot.directory) / "a_definition.py").write_text(
        "import atexit, sys, a_library\n"
        "a_library.begin()\n"
        "@atexit.register\ndef last():\n    sys.called.append('definition')\n"
        "def fails():\n    raise OSError('not called in vain')\n"
        "atexit.register(fails)\n"
    )
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.syspath_prepend(snapshot.directory)
    import a_definition  # type: ignore[import-not-found]

    assert callable(a_definition.last)
    snapshot.call_exit_functions()
    assert called == ["definition", "run of the library"]
    snapshot.call_exit_functions()
    assert len(called) == 2
    atexit.unregister(called.append)
    del sys.modules["a_definition"], sys.modules["a_library"]


def test_a_thread_that_is_no_daemon_is_waited_for_by_the_end_of_the_process(snapshot: _reuse.Snapshot) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert not snapshot.can_restore()
    stop.set()
    thread.join()
    assert snapshot.can_restore()
    daemon = threading.Thread(target=time.sleep, args=(0.5,), daemon=True)
    daemon.start()
    assert snapshot.can_restore()
