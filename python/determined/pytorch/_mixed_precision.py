"""PyTorch's automatic mixed precision for models that are not written for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def to_float(data: Any) -> Any:
    """Returns the same structure, with half-precision tensors as float32."""
    if isinstance(data, torch.Tensor):
        return data.float() if data.dtype in (torch.float16, torch.bfloat16) else data
    if isinstance(data, dict):
        return {key: to_float(value) for key, value in data.items()}
    if isinstance(data, list):
        return [to_float(value) for value in data]
    if isinstance(data, tuple):
        return tuple(to_float(value) for value in data)
    return data


def autocast_forward(model: nn.Module, device_type: str) -> None:
    """Makes the model compute in mixed precision and return float32. The model stays the same object."""
    plain: Callable[..., Any] = model.forward

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device_type):
            answer = plain(*args, **kwargs)
        return to_float(answer)

    model.forward = forward
