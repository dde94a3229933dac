"""Loads what was trained from a checkpoint's files, with the framework that wrote them."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any

from determined._tensorflow import _exported

_OF_TRIALS = ("load_data.json", "state_dict.pth", "state-dict.pth", "model.pth")


def check(uuid: str, framework: str, format: str, files: Iterable[str]) -> None:
    """Checks before the download that the checkpoint can be loaded. ``files`` may be empty if they are unknown.

    Raises:
        AssertionError: the checkpoint cannot be loaded.
        ImportError: the checkpoint needs TensorFlow, which is not installed.
    """
    files = list(files)
    if framework.startswith("tensorflow"):
        if files and format in ("saved_model", "checkpoint"):
            _exported.only(files, uuid)
        import determined._tensorflow._framework  # noqa: F401  # says it well where there is none
    elif not framework and files and not any(name in files for name in _OF_TRIALS):
        raise AssertionError(
            f"checkpoint {uuid} was not saved by a trial class; get its files with download() and load them with "
            "your own code"
        )


def load_tensorflow(path: pathlib.Path, format: str, tags: list[str] | None) -> Any:
    """Loads a downloaded checkpoint of TensorFlow: a Keras model, or the SavedModel of an Estimator."""
    if format == "saved_weights":
        from determined.keras._load import load_model_from_checkpoint_path

        return load_model_from_checkpoint_path(path, tags)
    from determined.estimator._load import load_estimator_from_checkpoint_path

    return load_estimator_from_checkpoint_path(path, tags)
