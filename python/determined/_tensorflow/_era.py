"""Which version of TensorFlow a model definition was written for.

The platform has one version. For code written for an earlier one, `_earlier` provides the names and classes of that
version (docs/decisions/0038).
"""

from __future__ import annotations

import enum
import logging
import pathlib
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from determined._compat import zip_strict
from determined._definition import _entrypoint, _native
from determined.exec import _families, _requirements

logger = logging.getLogger("determined")

_IMAGE = re.compile(r"(?:^|[-:/])tf-?(\d+)\.(\d+)")
_STEPS = ("max_steps", "target_trial_steps", "step_budget", "steps_per_round")
_NEW_OPTIMIZERS = (2, 11)
"""The version in which Keras replaced its optimizers under the same names."""


class Era(enum.Enum):
    FIRST = "TensorFlow 1"
    EARLIER = "TensorFlow 2.10 or earlier"
    OURS = "the installed TensorFlow"


class Verdict(NamedTuple):
    era: Era
    reason: str
    """What the decision is based on, for the log."""


def of(config: Mapping[str, Any], directory: pathlib.Path) -> Verdict:
    """The version that the trial of this configuration was written for, and the reason.

    The version in ``requirements.txt`` or else in ``environment.image`` decides. If neither names one, a trial class or
    a script of the Native API was written for TensorFlow 1 if it uses names that only TensorFlow 1 has or its length is
    given in steps, and otherwise for TensorFlow 2.10 or earlier. Scripts that start as a command, and searches with
    ``max_time``, use the installed version.
    """
    families = _families.on_tensorflow(directory, config)
    if not families:
        return Verdict(Era.OURS, "")
    if _names_its_version(directory):
        return Verdict(Era.OURS, "requirements.txt")
    if (version := image_version(config)) is not None:
        named = f"environment.image names TensorFlow {version[0]}.{version[1]}"
        if version[0] == 1:
            return Verdict(Era.FIRST, named)
        return Verdict(Era.EARLIER if version < _NEW_OPTIMIZERS else Era.OURS, named)
    searcher = config.get("searcher")
    given = searcher if isinstance(searcher, Mapping) else {}
    steps = next((name for name in _STEPS if given.get(name) is not None), None)
    if steps is None and given.get("max_time") is not None:
        return Verdict(Era.OURS, "searcher.max_time")
    only_first, only_second = only_in_one(_families.names_used(directory, config))
    if only_first and not only_second:
        return Verdict(Era.FIRST, f"the code uses tf.{only_first[0]}")
    if steps is not None:
        return Verdict(Era.EARLIER if only_second else Era.FIRST, f"searcher.{steps}")
    if _native.command_of(config) is not None:
        return Verdict(Era.EARLIER, "a script of the Native API")
    return Verdict(Era.EARLIER, f"entrypoint: {_entrypoint.class_in(config.get('entrypoint')) or 'a trial class'}")


def image_version(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """The version of TensorFlow in the name of an image of the original platform, such as ``…-tf-1.15-gpu-0.8.0``."""
    environment = config.get("environment")
    image = environment.get("image") if isinstance(environment, Mapping) else None
    for one in image.values() if isinstance(image, Mapping) else [image]:
        if isinstance(one, str) and (found := _IMAGE.search(one)) is not None:
            return int(found[1]), int(found[2])
    return None


def _names_its_version(directory: pathlib.Path) -> bool:
    file = directory / _requirements.NAME
    return file.is_file() and _requirements.names_tensorflow(file.read_text().splitlines())


def only_in_one(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names that only TensorFlow 1 has, and those that only TensorFlow 2 has, without ``tensorflow.``"""
    from determined._tensorflow._framework import tf, v1

    first: list[str] = []
    second: list[str] = []
    whole = sorted(names)
    for name, after in zip_strict(whole, [*whole[1:], ""]):
        if after.startswith(f"{name}."):  # a prefix of the next name
            continue
        head, _, rest = name.partition(".")
        if head != "tensorflow" or not rest or rest.startswith(("compat.", "python.", "keras.")):
            continue
        in_first, in_second = _has(v1, rest), _has(tf, rest)
        if in_first != in_second:
            (first if in_first else second).append(rest)
        elif rest.startswith("contrib") and not in_first:
            first.append(rest)
    return first, second


def _has(module: Any, path: str) -> bool:
    for name in path.split("."):
        try:
            module = getattr(module, name)
        except AttributeError:
            return False
    return True


def prepare(config: Mapping[str, Any], directory: pathlib.Path, *, quiet: bool = False) -> None:
    """Prepares this process for the code of a model definition. Call it before that code is imported."""
    era, reason = of(config, directory)
    if era is Era.OURS:
        return
    from determined._tensorflow import _earlier, _first_generation
    from determined._tensorflow._framework import tf

    names = _families.names_used(directory, config)
    if any(name.startswith("tensorflow.python.keras") for name in names):
        _earlier.alias_private_keras()
    _earlier.take()
    for message in ("The `lr` argument is deprecated", r"`tf\.layers\."):  # nothing to do about it in old code
        warnings.filterwarnings("ignore", message=message)
    first = era is Era.FIRST and "keras" not in _families.on_tensorflow(directory, config)
    if first:
        _first_generation.switch()
    if not quiet:
        meaning = (
            "`import tensorflow` imports tensorflow.compat.v1" if first else "tf.keras.optimizers are the legacy ones"
        )
        installed = ".".join(tf.__version__.split(".")[:2])
        told = "treating the code as %s code (%s): %s. To use TensorFlow %s as it is, set environment.image to tf-%s"
        logger.info(told, era.value, reason, meaning, installed, installed)
