"""Runs in the original client's own environment and does what it is told, one JSON line at a time.

Commands run in forks of this process, so that the client is imported once and not for every command. Programs of the
SDK run in this process itself, and share their variables.
"""

import argparse
import inspect
import json
import os
import select
import signal
import sys
import tempfile
import traceback
import warnings

warnings.filterwarnings("ignore")

import determined.cli.cli as program  # noqa: E402
from determined.deploy import cli as deploy  # noqa: E402

from determined import cli, core  # noqa: E402
from determined.common import experimental  # noqa: E402
from determined.experimental import client, core_v2  # noqa: E402

SDK = (
    *(client.Determined, client.Experiment, client.Trial, client.Checkpoint, client.Model, client.ModelVersion),
    *(client.User, client.Workspace, client.Project, client.ResourcePool),
    *(core.Context, core.TrainContext, core.CheckpointContext, core.DistributedContext, core.PreemptContext),
    *(core.SearcherContext, core.SearcherOperation, core.ProfilerContext, core.ExperimentalCoreContext),
)
variables = {"client": client, "core_v2": core_v2, "core": core, "experimental": experimental}


def command(words, environment, directory, stdin, seconds):
    """Exit status and output of one command; the status is "timeout" if it had to be killed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as input:
        input.write(stdin.encode())
        input.seek(0)
        child = os.fork()
        if child == 0:
            _become(words, environment, directory, input, output)
        descriptor = os.pidfd_open(child)
        ended, _, _ = select.select([descriptor], [], [], seconds)
        os.close(descriptor)
        if not ended:
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {"status": os.waitstatus_to_exitcode(status) if ended else "timeout", "output": text}


def _become(words, environment, directory, input, output):
    """What the client's `det` program does, without its start."""
    status = 1
    try:
        os.setsid()
        for number, file in ((0, input), (1, output), (2, output)):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = ["det", *words]
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        try:
            program.main(["-m", environment["DET_MASTER"], *words])
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def sdk(text, holds):
    """Whether ``holds`` is true after the program ``text``, in which ``it`` is the value of an expression."""
    variables.pop("it", None)
    try:
        try:
            code = compile(text, "<program>", "eval")
        except SyntaxError:
            exec(text, variables)
        else:
            it = eval(code, variables)
            variables["it"] = list(it) if inspect.isgenerator(it) else it
    except BaseException as error:
        variables["error"] = error
        return {"raised": type(error).__name__, "output": f"{error}\n{traceback.format_exc()}"}
    try:
        held = bool(eval(holds, variables)) if holds else True
    except BaseException:
        return {"raised": None, "holds": False, "output": traceback.format_exc()}
    return {"raised": None, "holds": held, "output": "" if held else f"it is {variables.get('it')!r}"}


def leaves():
    """The commands that the client's argument parsers know, `help` included."""
    found = []
    for description in (program.all_args_description, [deploy.args_description]):
        parser = program.make_parser()
        cli.add_args(parser, description)
        _walk(parser, [], found)
    return sorted(set(found) - {"deploy"})


def _walk(parser, path, found):
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        found.append(" ".join(path))
    for group in groups:
        seen = set()
        for name, child in group.choices.items():
            if id(child) not in seen:  # its other names are aliases
                seen.add(id(child))
                _walk(child, [*path, name], found)


def methods():
    """The public functions of the SDK's modules and classes."""
    found = []
    for name, module in (("client", client), ("core_v2", core_v2)):
        of_module = [n for n, it in inspect.getmembers(module, inspect.isfunction) if not n.startswith("_")]
        found += [f"{name}.{function}" for function in of_module]
    for kind in SDK:
        own = [(n, inspect.getattr_static(kind, n)) for n in dir(kind) if not n.startswith("_")]
        functions = [n for n, it in own if inspect.isfunction(it) or isinstance(it, (staticmethod, classmethod))]
        found += [f"{kind.__name__}.{function}" for function in functions]
    return sorted(found)


def main():
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    doing = {"command": command, "sdk": sdk, "leaves": leaves, "methods": methods, "chdir": os.chdir}
    for line in requests:
        request = json.loads(line)
        reply = doing[request.pop("do")](**request)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
