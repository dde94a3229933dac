"""Restores a process between two trials of an experiment that it runs.

The next trial finds the files of the model definition as they were, and imports its modules anew; libraries stay
imported. What libraries keep for themselves stays, too, except for the settings of PyTorch listed here.
"""

from __future__ import annotations

import atexit
import functools
import gc
import itertools
import os
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any

from determined.exec._leftovers import Leftovers
from determined.tensorboard import _board

_MARK = __name__ + ".mark"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM)


class Snapshot:
    """The state of this process before its first trial."""

    def __init__(self, directory: str) -> None:
        self.directory = os.path.realpath(directory)
        self._leftovers = Leftovers(directory)
        self._modules = set(sys.modules)
        self._mark_modules()
        self._signals = {number: signal.getsignal(number) for number in _SIGNALS}
        self._excepthook = sys.excepthook
        self._restore_torch = _settings_of_torch()
        self._exit_functions: list[Callable[[], Any]] = []
        self._register = atexit.register
        atexit.register = self._at_exit  # type: ignore[assignment]

    def _at_exit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """What is registered for the trial is called at its end; what a library registers while it is imported, at the
        end of the process, because the library stays imported.
        """
        frame = sys._getframe(1)
        while frame.f_back is not None and not self._is_of_trial(frame.f_globals) and not _imports(frame):
            frame = frame.f_back
        if _imports(frame):
            self._register(function, *args, **kwargs)
        else:
            self._exit_functions.append(functools.partial(function, *args, **kwargs))
        return function

    def call_exit_functions(self) -> None:
        """Calls what the trial registered with ``atexit``, as the end of an interpreter does."""
        while self._exit_functions:
            try:
                self._exit_functions.pop()()
            except BaseException:
                traceback.print_exc()

    def can_restore(self) -> bool:
        """Whether all that the trial has changed can be restored; if not, the process ends with it."""
        if "tensorflow" in sys.modules:  # it counts layers, and names weights after the count
            return False
        if any(not thread.daemon and thread is not threading.current_thread() for thread in threading.enumerate()):
            return False
        return self._leftovers.can_be_removed()

    def restore(self) -> None:
        """Restores the process for the next trial. Requires: ``can_restore()``."""
        self._leftovers.remove()
        for name in self._new_modules():
            if self._is_of_trial(getattr(sys.modules[name], "__dict__", {})):
                del sys.modules[name]
        self._mark_modules()
        for number, handler in self._signals.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.excepthook = self._excepthook
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        self._restore_torch()
        _board.forget()
        gc.collect()
        gc.freeze()  # what is left are libraries: it costs nothing to look at the next trial's objects only

    def _mark_modules(self) -> None:
        """Adds a module after all others: what is imported from now on comes after it, and the others, of which a
        process with PyTorch has thousands, need not be looked at.
        """
        sys.modules[_MARK] = sys.modules.pop(_MARK, types.ModuleType(_MARK))

    def _new_modules(self) -> list[str]:
        names = itertools.takewhile(lambda name: name != _MARK, reversed(sys.modules))
        return [name for name in names if name not in self._modules]

    def _is_of_trial(self, module: Mapping[str, Any]) -> bool:
        """Whether a module, given by its names, belongs to the model definition or to this package, and so is imported
        anew.
        """
        name = str(module.get("__name__") or "")
        if name == "__main__" or name.startswith("determined."):
            return True
        file = module.get("__file__")
        if file is None:  # a package without an __init__.py
            return any(_is_below(str(path), self.directory) for path in module.get("__path__") or ())
        return str(file).endswith(".py") and _is_below(str(file), self.directory)  # others cannot be loaded again


def _imports(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith("<frozen importlib")


def _is_below(path: str, directory: str) -> bool:
    return os.path.realpath(path).startswith(directory + os.sep)


def _settings_of_torch() -> Callable[[], None]:
    """What restores PyTorch's settings."""
    import torch

    backends = torch.backends
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    precision, anomalies = torch.get_float32_matmul_precision(), torch.is_anomaly_enabled()
    algorithms = (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
    flags: list[tuple[Any, str]] = [
        (backends.cudnn, "benchmark"),
        (backends.cudnn, "deterministic"),
        (backends.cudnn, "allow_tf32"),
        (backends.cuda.matmul, "allow_tf32"),
    ]
    before = [(place, name, getattr(place, name)) for place, name in flags]

    def restore() -> None:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_float32_matmul_precision(precision)
        torch.autograd.set_detect_anomaly(anomalies)
        torch.use_deterministic_algorithms(algorithms[0], warn_only=algorithms[1])
        torch.set_default_device(None)
        for place, name, value in before:
            if getattr(place, name) != value:
                setattr(place, name, value)
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.empty_cache()

    return restore
