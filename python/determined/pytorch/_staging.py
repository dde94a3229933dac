"""Copies the state of a trial, so that it can be written while the trial goes on."""

from __future__ import annotations

import collections
import copy
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

logger = logging.getLogger("determined.pytorch")

_UNCHANGING = (type(None), bool, int, float, complex, str, bytes, np.generic, torch.dtype, torch.device, torch.Size)
_MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict)


class Stage:
    """The memory of the copies. It is kept for the next copy, because to touch new memory costs more than to copy.

    So a trial that saves in the background needs the memory of its state twice. If there is less, nothing is copied,
    and the trial has to wait until its state is written.
    """

    def __init__(self) -> None:
        self._buffers: dict[int, list[torch.Tensor]] = {}
        self._used: list[torch.Tensor] = []

    def copy_of(self, value: Any) -> Any | None:
        """Returns a copy that shares nothing that can change with the value; None if that is not possible.

        Tensors come to the CPU, and those that share memory with one another still do. Objects other than tensors,
        arrays and the containers that Python has are copied by :func:`copy.deepcopy`. The former copy is lost.
        """
        self._used, former = [], self._used
        for buffer in former:
            self._buffers.setdefault(buffer.nbytes, []).append(buffer)
        objects: dict[int, Any] = {}
        walk = Walk(self._copy, lambda found: copy.deepcopy(found, objects))
        try:
            self._check_memory(value)
            result = walk.of(value)
        except _Unsuitable as reason:
            logger.info("training waits until the checkpoint is written: %s", reason)
            result = None
        self._buffers.clear()  # what this state did not need, the next one will not
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()  # the copies from GPUs are asynchronous
        return result

    def _check_memory(self, value: Any) -> None:
        from determined import _runtime

        kept = sum(buffer.nbytes for buffers in self._buffers.values() for buffer in buffers)
        needed, free = _bytes_in(value, set()) - kept, _runtime.available_memory()
        if free is not None and 2 * needed > free:
            raise _Unsuitable(f"a copy of its state needs {needed / 1e6:.0f} MB more, {free / 1e6:.0f} MB are free")

    def _copy(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        known = self._buffers.get(storage.nbytes())
        on_gpu = storage.device.type == "cuda"
        buffer = known.pop() if known else torch.empty(storage.nbytes(), dtype=torch.uint8, pin_memory=on_gpu)
        self._used.append(buffer)
        source = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
        buffer.copy_(source, non_blocking=on_gpu)
        return buffer.untyped_storage()


def owned(value: Any) -> Any | None:
    """Returns a copy whose tensors have memory of their own; None if that is not certain of an object in it."""

    def copied(storage: torch.UntypedStorage) -> torch.UntypedStorage:
        return torch.empty(0, dtype=torch.uint8).set_(storage).clone().untyped_storage()

    def refused(found: Any) -> Any:
        raise TypeError("its tensors are not known")

    try:
        return Walk(copied, refused).of(value)
    except _Unsuitable:
        return None


def _bytes_in(value: Any, seen: set[int]) -> int:
    """The memory of the tensors of a structure, each storage counted once."""
    if type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided:
        storage: torch.UntypedStorage = value.untyped_storage()
        if storage._cdata in seen:
            return 0
        seen.add(storage._cdata)
        return storage.nbytes()
    if type(value) in _MAPPINGS:
        return sum(_bytes_in(item, seen) for item in value.values())
    if type(value) in (list, tuple):
        return sum(_bytes_in(item, seen) for item in value)
    return 0


class _Unsuitable(Exception):
    """The state can't be copied."""


class Walk:
    """Copies a structure, with the copies of storages and of other objects that two functions return."""

    def __init__(
        self,
        copy_storage: Callable[[torch.UntypedStorage], torch.UntypedStorage],
        copy_object: Callable[[Any], Any],
    ) -> None:
        self._copy_storage = copy_storage
        self._copy_object = copy_object
        self._storages: dict[int, torch.UntypedStorage] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, _UNCHANGING):
            return value
        if type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided:
            return self._of_tensor(value)
        if type(value) in _MAPPINGS:
            result = copy.copy(value)  # with its attributes: a state_dict() has the versions of its modules there
            for key, item in value.items():
                result[key] = self.of(item)
            return result
        if type(value) in (list, tuple):
            return type(value)(self.of(item) for item in value)
        if type(value) is np.ndarray and value.dtype != object:
            return value.copy()
        try:
            return self._copy_object(value)
        except Exception as error:
            raise _Unsuitable(f"a {type(value).__name__} in it can't be copied: {error}") from error

    def _of_tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        own = tensor.untyped_storage()
        copied = self._storages.get(own._cdata)
        if copied is None:
            copied = self._storages[own._cdata] = self._copy_storage(own)
        new = torch.empty(0, dtype=tensor.dtype, device=copied.device)
        new.set_(copied, tensor.storage_offset(), tensor.size(), tensor.stride())
        if type(tensor) is torch.nn.Parameter:
            return torch.nn.Parameter(new, tensor.requires_grad)
        return new.requires_grad_(tensor.requires_grad)
