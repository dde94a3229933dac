"""DeepSpeed's configuration, with values from hyperparameters."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from typing import Any


def overwrite_deepspeed_config(
    base_ds_config: str | os.PathLike[str] | Mapping[str, Any], source_ds_dict: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns a DeepSpeed configuration, or the one in a JSON file, with the values of ``source_ds_dict``. Sections are
    merged key by key.

    Example::

        config = overwrite_deepspeed_config("ds_config.json", context.get_hparams().get("overwrite_deepspeed_args", {}))

    Raises:
        TypeError: the configuration is neither a path nor a mapping.
    """
    if isinstance(base_ds_config, (str, os.PathLike)):
        with open(base_ds_config) as file:
            base_ds_config = json.load(file)
    if not isinstance(base_ds_config, Mapping):
        raise TypeError(f"base_ds_config is {base_ds_config!r}; it must be a dict, or the path of a JSON file with one")
    return _merged(base_ds_config, source_ds_dict)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(dict(base))
    for name, value in changes.items():
        below = result.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            result[name] = _merged(below, value)
        else:
            result[name] = copy.deepcopy(value)
    return result


def get_ds_config_from_args(args: list[str]) -> str | None:
    """Returns the value of ``--deepspeed_config``, or of ``--deepspeed-config``, in a list of command line arguments;
    None without it.
    """
    for number, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name in ("--deepspeed_config", "--deepspeed-config"):
            if equals:
                return value
            return args[number + 1] if number + 1 < len(args) else None
    return None
