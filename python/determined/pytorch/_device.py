"""Moves batches, which are nested structures of arrays and tensors, to a device."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import torch

logger = logging.getLogger("determined.pytorch")

TorchData = Union[dict[str, torch.Tensor], "list[Any]", "tuple[Any, ...]", torch.Tensor]
"""What a data loader yields and ``train_batch`` gets: tensors, or dicts, lists and tuples of them."""

_NUMERIC = frozenset("fciub")
_warned: set[str] = set()


def to_device(data: Any, device: torch.device | str) -> Any:
    """Returns the same structure, with arrays converted to tensors and all tensors on the device.

    Dicts, lists and tuples keep their structure. Any other object with a ``to`` method is moved by it and keeps its
    type. What cannot be moved (strings, numbers, None) stays unchanged, with one warning per type.
    """
    if isinstance(data, torch.Tensor):
        return data if data.device == device else data.to(device, non_blocking=True)
    move = None if type(data) in (dict, list, tuple) else getattr(data, "to", None)
    if callable(move):
        return move(device)
    if isinstance(data, list):
        return [to_device(value, device) for value in data]
    if isinstance(data, tuple):
        return tuple(to_device(value, device) for value in data)
    if isinstance(data, Mapping):
        return {key: to_device(value, device) for key, value in data.items()}
    if isinstance(data, np.ndarray) and data.dtype.kind in _NUMERIC:
        return torch.from_numpy(data).to(device, non_blocking=True)
    _warn_once(data)
    return data


def _warn_once(data: Any) -> None:
    kind = f"numpy array of {data.dtype}" if isinstance(data, np.ndarray) else type(data).__name__
    if kind not in _warned:
        _warned.add(kind)
        logger.warning(
            "batches hold values of the type %s, which can't be moved to a device; they are passed unchanged", kind
        )


def data_length(data: Any) -> int:
    """Returns the number of records of a batch: the length of its first array or tensor, or of its first list of other
    values, such as strings.

    Raises:
        ValueError: a dict, list or tuple in it is empty.
        TypeError: there is nothing of that kind, or the first tensor is a single number.
    """
    if isinstance(data, (torch.Tensor, np.ndarray)):
        if data.ndim:
            return int(data.shape[0])  # len() of a tensor is no built-in
    elif isinstance(data, (list, tuple, Mapping)):
        if not data:
            raise ValueError(
                f"the batch holds an empty {type(data).__name__}, so its records cannot be counted; override "
                "get_batch_length()"
            )
        if not isinstance(data, (list, tuple)):
            return data_length(next(iter(data.values())))
        if isinstance(data[0], (torch.Tensor, np.ndarray, list, tuple, Mapping)):
            return data_length(data[0])
        return len(data)
    raise TypeError(
        f"the batch holds a value of the type {type(data).__name__} where an array or a tensor is needed to count "
        "records; override get_batch_length() for other types of batches"
    )
