"""What a process that runs several trials of an experiment tidies up between two of them.

The next trial finds the files of the model definition as they were, and imports its modules anew; libraries stay
imported. What libraries keep for themselves stays, too, except for the settings of PyTorch listed here.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import os
import pathlib
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from determined.tensorboard import _board

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM)
_OWN_FILES = {"__pycache__"}


class Beginning:
    """What the first trial of this process found: made before it begins."""

    def __init__(self, directory: str) -> None:
        self.directory = os.path.realpath(directory)
        self._files = _files(self.directory)
        self._modules = set(sys.modules)
        self._signals = {number: signal.getsignal(number) for number in _SIGNALS}
        self._excepthook = sys.excepthook
        self._restore_torch = _settings_of_torch()
        self._exit_functions: list[Callable[[], Any]] = []
        self._register = atexit.register
        atexit.register = self._at_exit  # type: ignore[assignment]

    def _at_exit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """What the trial registers is called at its end; what a library does, at the end of the process."""
        if self._is_of_trial(sys.modules.get(getattr(function, "__module__", None) or "")):
            self._exit_functions.append(functools.partial(function, *args, **kwargs))
        else:
            self._register(function, *args, **kwargs)
        return function

    def call_exit_functions(self) -> None:
        """Calls what the trial registered with ``atexit``, as the end of an interpreter does."""
        while self._exit_functions:
            try:
                self._exit_functions.pop()()
            except BaseException:
                traceback.print_exc()

    def can_return(self) -> bool:
        """Whether everything that the trial did can be taken back; if not, the process ends with it."""
        if "tensorflow" in sys.modules:  # it counts layers, and names weights after the count
            return False
        if any(not thread.daemon and thread is not threading.current_thread() for thread in threading.enumerate()):
            return False
        now = _files(self.directory)
        return all(now.get(path) == before for path, before in self._files.items())

    def bring_back(self) -> None:
        """Makes the process what it was at the beginning, for the next trial. Requires: ``can_return()``."""
        for path in sorted(set(_files(self.directory)) - set(self._files)):
            _remove(path)
        for name, module in list(sys.modules.items()):
            if name not in self._modules and self._is_of_trial(module):
                del sys.modules[name]
        for number, handler in self._signals.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.excepthook = self._excepthook
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        self._restore_torch()
        _board.forget()
        gc.collect()
        gc.freeze()  # what is left are libraries: it costs nothing to look at the next trial's objects only

    def _is_of_trial(self, module: Any) -> bool:
        """Whether a module belongs to the model definition or to this package, and so is imported anew."""
        name = getattr(module, "__name__", "")
        if name == "__main__" or name.startswith("determined."):
            return True
        file = getattr(module, "__file__", None)
        if file is None:  # a package without an __init__.py
            return any(_is_below(str(path), self.directory) for path in getattr(module, "__path__", ()))
        return str(file).endswith(".py") and _is_below(str(file), self.directory)  # others cannot be loaded again


def _is_below(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(directory + os.sep)


def _files(directory: str) -> dict[str, tuple[int, int, int]]:
    """Kind, size and time of change of everything in the directory, by path; but for compiled modules."""
    found = {}
    for parent, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if name not in _OWN_FILES]
        for name in [*directories, *names]:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                kept = (0, 0) if name in directories else (status.st_size, status.st_mtime_ns)
                found[path] = (status.st_mode, *kept)
    return found


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        pathlib.Path(path).unlink(missing_ok=True)


def _settings_of_torch() -> Callable[[], None]:
    """What restores PyTorch's settings."""
    import torch

    backends = torch.backends
    held = [
        (torch.set_default_dtype, torch.get_default_dtype()),
        (torch.set_grad_enabled, torch.is_grad_enabled()),
        (torch.set_float32_matmul_precision, torch.get_float32_matmul_precision()),
        (torch.autograd.set_detect_anomaly, torch.is_anomaly_enabled()),
    ]
    flags = [
        (backends.cudnn, "benchmark"),
        (backends.cudnn, "deterministic"),
        (backends.cudnn, "allow_tf32"),
        (backends.cuda.matmul, "allow_tf32"),
    ]
    before = [(place, name, getattr(place, name)) for place, name in flags]
    algorithms = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())

    def restore() -> None:
        for set_to, value in held:
            set_to(value)
        for place, name, value in before:
            if getattr(place, name) != value:
                setattr(place, name, value)
        torch.use_deterministic_algorithms(algorithms[0], warn_only=algorithms[1])
        torch.set_default_device(None)
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    return restore
