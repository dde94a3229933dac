"""PyTorch's automatic mixed precision for models that know nothing of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def to_float(data: Any) -> Any:
    """The same structure with half-precision tensors as float32."""
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
    """From now on the model computes in mixed precision and answers in float32. It stays the same object."""
    plain: Callable[..., Any] = model.forward

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device_type):
            answer = plain(*args, **kwargs)
        return to_float(answer)

    model.forward = forward
