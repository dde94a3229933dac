"""One import of PyTorch for the warm workers of all clusters of a test run.

Every agent starts a warm worker of its own, and each imports PyTorch: three seconds of a processor, a hundred times a
run. Here ``--python`` is a script (``python_for``) that runs what it is given, except ``-m determined.exec.warm``: for
that it hands its socket, directory, environment and log to a process with the same environment, which has warmed up
already, and which forks the worker. So every agent still has a worker of its own, with the product's code in it from
its first request on. How an agent starts a worker, and how one warms up, is tested in src/agent and python/tests, and
where ``Cluster(own_worker=True)`` says so.

    python warm_zygote.py DIRECTORY PYTHON SESSION worker    in the place of ``python -m determined.exec.warm``
    python warm_zygote.py SESSION zygote                     what forks them, until process SESSION has ended
"""

import array
import fcntl
import hashlib
import json
import os
import pathlib
import select
import socket
import sys

_AGENT = 3  # the descriptor of the agent's socket, exec/warm.py
_OWN = ("PWD", "OLDPWD", "XDG_CONFIG_HOME", "DET_MASTER_CERT_FILE")  # of one cluster; nothing reads them as it starts
_LOOK_SECONDS = 1.0


def python_for(directory, python):
    """A program to call as ``python``, whose warm workers come from one process of this run."""
    place = directory / "python"
    here = pathlib.Path(__file__).resolve()
    text = f"""#!/bin/sh
if [ "$*" = "-m determined.exec.warm" ]; then
  exec '{python}' -S -E '{here}' '{directory}' '{python}' {os.getpid()} worker
fi
exec '{python}' "$@"
"""
    unfinished = directory / f".python.{os.getpid()}"
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.rename(place)
    return str(place)


def worker(directory, python, session):
    """Has the zygote of this environment fork the worker, and ends when that does."""
    key = hashlib.sha256(json.dumps(sorted(_shared().items())).encode()).hexdigest()[:16]
    connection = _connect(directory / f"{key}.sock", directory / f"{key}.log", [python, __file__, session, "zygote"])
    own = {name: os.environ[name] for name in _OWN if name in os.environ}
    request = json.dumps({"directory": os.getcwd(), "environment": own}).encode()
    descriptors = array.array("i", [_AGENT, 1])
    connection.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    connection.recv(1)  # nothing comes


def _shared():
    return {name: value for name, value in os.environ.items() if name not in _OWN}


def _connect(address, log, command):
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(address))
        except OSError:
            _start(address, log, command)
            connection.connect(str(address))
    return connection


def _start(address, log, command):
    """It warms up while who asked for it, and others, wait in the queue of its socket."""
    address.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(address))
    listener.listen(128)
    if os.fork() != 0:
        return
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(listener.fileno(), _AGENT)
    os.execve(command[0], command, _shared())


def zygote(session):
    sys.path.pop(0)  # this folder: python -m has none
    from determined import _runtime
    from determined.exec import warm

    listener = socket.socket(fileno=os.dup(_AGENT))  # _AGENT stays taken: in a fork it becomes the agent's
    warm.warm_up()
    assert warm.threads_of_this_process() == 1
    while os.path.exists(f"/proc/{session}"):
        ready, _, _ = select.select([listener], [], [], _LOOK_SECONDS)
        warm._reap()
        if not ready:
            continue
        connection = listener.accept()[0]
        message, control, _, _ = connection.recvmsg(64 * 1024, socket.CMSG_SPACE(8))
        if control and os.fork() == 0:
            listener.close()
            _serve(json.loads(message), array.array("i", control[0][2]), _runtime, warm)
        for descriptor in array.array("i", control[0][2]) if control else ():
            os.close(descriptor)
        connection.close()


def _serve(request, descriptors, runtime, warm):
    """The worker, as a new process with this directory and environment would be."""
    agent, log = descriptors
    for number, descriptor in ((_AGENT, agent), (1, log), (2, log)):
        if number != descriptor:
            os.dup2(descriptor, number)
    os.chdir(request["directory"])
    sys.path.insert(0, request["directory"])
    os.environ.update(request["environment"])
    warm._STARTED_WITH = {**warm._STARTED_WITH, **request["environment"]}  # before it was warmed up
    warm._OWN_DIRECTORY = request["directory"]
    try:
        warm.serve(socket.socket(fileno=_AGENT), runtime.run_shim)
    finally:
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[-1] == "worker":
        worker(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        zygote(sys.argv[1])
