"""The warm worker: imports the framework in advance, and forks a trial for every request.

``python -m determined.exec.warm`` with a Unix socket (SOCK_SEQPACKET, listening or connected) as file descriptor 3.
Request: ``{"directory": "<task directory with spec.json>"}``. Answer: ``{"pid": 1234}``, the shim's, or ``{"error":
"…"}``. The worker ends when the other end of the socket closes; running trials continue.

A trial must not depend on the worker's state. The worker has one thread, the environment from its start, and no device
context; the fork sets its own environment, working directory, arguments and import path, and seeds every generator.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import pathlib
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Optional

from determined import _environment
from determined.common.constants import SHARED_FS_CONTAINER_PATH
from determined.exec import (
    _ending,
    _families,
    _forks,
    _huge_pages,
    _output,
    _requirements,
    _reuse,
    _script,
    _warm_script,
)

AnotherTask = Callable[[Callable[[], None]], bool]
RunShim = Callable[[str, Callable[[Optional[AnotherTask]], int]], Any]

_SOCKET = 3
_MESSAGE_BYTES = 64 * 1024
_LOOK_SECONDS = 1.0


def main() -> int:
    """Warms up, then serves requests until the agent has ended."""
    try:
        from determined import _runtime
    except ImportError as error:
        print(
            f"the trial runtime determined._runtime cannot be imported: {error}; build it with tools/build.sh",
            file=sys.stderr,
        )
        return 1
    warm_up()
    count = threads_of_this_process()
    if count != 1:
        print(f"the warm worker has {count} threads; it must have exactly 1 to fork", file=sys.stderr)
        return 1
    serve(socket.socket(fileno=_SOCKET), _runtime.run_shim)
    return 0


def warm_up() -> None:
    """Imports what a PyTorch trial imports and trains one small step, on one thread and on the CPU."""
    os.environ["OMP_NUM_THREADS"] = "1"  # forks must create their own thread pools
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # read at import; trials report lost ranks themselves
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # looking for a GPU must not open one here
    import torch

    torch.set_num_threads(1)
    import torch.distributed

    import determined._ranks._group
    import determined.core
    import determined.exec.trial
    import determined.pytorch  # noqa: F401

    with no_gpus():
        _take_a_step()
        _environment.warm_up()
    _output.set_up()
    socket.getaddrinfo("127.0.0.1", 0)  # imports the codec of host names
    _ending.leave_operators()
    _ending.leave_reports()
    gc.collect()
    gc.freeze()  # objects that exist now are not collected, so that forks share their memory
    _huge_pages.collapse()


@contextlib.contextmanager
def no_gpus() -> Iterator[None]:
    """A context manager in which PyTorch finds no GPUs without asking the driver: forks of a process that has asked it
    cannot use GPUs.
    """
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _take_a_step() -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 2))
    for optimizer in (torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.optim.Adam(model.parameters())):
        loss = torch.nn.functional.cross_entropy(model(torch.zeros(2, 1, 4, 4)), torch.zeros(2, dtype=torch.long))
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    torch.save(model.state_dict(), io.BytesIO())


def threads_of_this_process() -> int:
    return len(os.listdir("/proc/self/task"))


def serve(listener: socket.socket, run_shim: RunShim) -> None:
    """Answers requests one after the other; returns when the socket is closed."""
    listening = bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    peers = [] if listening else [listener]
    parent = os.getppid()
    while listening or peers:
        ready, _, _ = select.select(([listener] if listening else []) + peers, [], [], _LOOK_SECONDS)
        _reap()
        if os.getppid() != parent:
            return
        for at in ready:
            if listening and at is listener:
                peers.append(listener.accept()[0])
                continue
            request = at.recv(_MESSAGE_BYTES)
            if not request:
                at.close()
                peers.remove(at)
                continue
            answer = _answer(request, [listener, *peers], run_shim)
            try:
                at.send(json.dumps(answer).encode())
            except OSError:
                at.close()
                peers.remove(at)


def _reap() -> None:
    """Collects shims that have ended; the agent that requested them watches them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def _answer(request: bytes, sockets: list[socket.socket], run_shim: RunShim) -> dict[str, Any]:
    try:
        directory = json.loads(request)["directory"]
        if not (pathlib.Path(directory) / "spec.json").is_file():
            return {"error": f"{directory} has no spec.json"}
    except (ValueError, KeyError, TypeError) as error:
        return {"error": f"a request must be a JSON object with the key directory: {error}"}
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        pid = os.fork()
    except OSError as error:
        return {"error": f"cannot start a process: {error.strerror}"}
    if pid == 0:
        _become_shim(directory, sockets, run_shim)
    return {"pid": pid}


def _become_shim(directory: str, sockets: list[socket.socket], run_shim: RunShim) -> None:
    status: Any = 1
    try:
        for one in sockets:
            one.close()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        status = run_shim(directory, run_task)
    finally:
        os._exit(status if isinstance(status, int) else 0)


def run_task(another: AnotherTask | None) -> int:
    """Runs the trial, in a process that already has the task's environment and working directory. With ``another`` also
    trials after it: each in a fork, or with ``reuse: true`` in this process.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    take_environment()
    tempfile.tempdir = None  # this task may have another TMPDIR, or no right to write into the worker's
    if another is None:
        return _run_to_the_end()

    from determined import _runtime
    from determined.core import _connection

    reported = _environment.report_once()
    directory = os.environ.get("DET_WORKDIR") or os.getcwd()
    config = _requirements.config_of(os.environ)
    storage = json.dumps(config.get("checkpoint_storage"))
    with contextlib.suppress(Exception):  # which the trial reports
        _families.keep_names(pathlib.Path(directory), config)

    def next_trial(tidy_up: Callable[[], None]) -> bool:
        _runtime.take_as_probed(storage, SHARED_FS_CONTAINER_PATH)  # by the trial that has just succeeded
        reported.next_trial()
        if not another(tidy_up):
            return False
        take_environment()
        return True

    if not config.get("reuse"):
        if _script.command_of(os.environ) is not None:
            _warm_script.set_level()  # here rather than in every fork, which would copy all loggers
        return _forks.run(directory, _run_to_the_end, next_trial)
    _connection.keep_for_the_next_trial()
    snapshot = _reuse.Snapshot(directory)
    while True:
        status = _run_trial()
        snapshot.call_exit_functions()
        sys.stdout.flush()
        sys.stderr.flush()
        if status != 0 or not snapshot.can_restore() or not next_trial(snapshot.restore):
            break
    _ending.wind_up()
    return status


def _run_to_the_end() -> int:
    status = _run_trial()
    _ending.wind_up()
    return status


def _run_trial() -> int:
    from determined import _failure
    from determined.exec import trial

    sys.argv = [trial.__file__]
    take_import_path()
    try:
        return trial.main(_STARTED_WITH)
    except BaseException as error:
        _failure.report(error)
        return 1


def take_environment() -> None:
    """Updates ``os.environ`` from the process's environment, which Python copies only at its start."""
    environ = _CharPointers.in_dll(_LIBRARY, "environ")
    entries: list[bytes] = []
    while (entry := environ[len(entries)]) is not None:
        entries.append(entry)
    found: dict[bytes, bytes] = {}
    for entry in entries:
        name, _, value = entry.partition(b"=")
        found[name] = value
    for name in [name for name in os.environb if name not in found]:
        del os.environb[name]
    for name, value in found.items():
        if os.environb.get(name) != value:
            os.environb[name] = value


def take_import_path() -> None:
    """Sets the import path that a new interpreter would have in this environment."""
    extra = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [entry for entry in sys.path if entry not in ("", _OWN_DIRECTORY)]
    sys.path[:] = [os.getcwd(), *(entry for entry in extra if entry not in kept), *kept]


_LIBRARY = ctypes.CDLL(None)
_CharPointers = ctypes.POINTER(ctypes.c_char_p)
_STARTED_WITH = dict(os.environ)
_OWN_DIRECTORY = os.getcwd()
"""Where the worker was started; ``python -m`` makes it the first entry of the import path."""


if __name__ == "__main__":
    os._exit(main())
