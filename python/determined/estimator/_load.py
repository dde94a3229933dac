"""Loads the SavedModel of an Estimator's checkpoint, inside or outside the cluster."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from determined._tensorflow import _exported
from determined._tensorflow._framework import tf


def load_estimator_from_checkpoint_path(path: str | os.PathLike[str], tags: list[str] | None = None) -> Any:
    """The SavedModel of a downloaded checkpoint, as ``tf.saved_model.load`` returns it.

    The trial must have defined ``build_serving_input_receiver_fns()``. ``tags`` defaults to ``["serve"]``.

    Example::

        model = load_estimator_from_checkpoint_path("checkpoints/6d3b…")
        model.signatures["serving_default"](x=tf.constant(x))

    Raises:
        AssertionError: the checkpoint contains no SavedModel, or several.
        FileNotFoundError: there is no such directory.
    """
    root = pathlib.Path(path)
    if not root.is_dir():
        raise FileNotFoundError(f"{path} is not a directory; pass the directory of a downloaded checkpoint")
    files = [file.relative_to(root).as_posix() for file in root.rglob("saved_model.pb")]
    return tf.saved_model.load(str(root / _exported.only(files, str(root))), tags=tags or ["serve"])
