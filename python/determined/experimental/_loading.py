"""From a checkpoint's files to what was trained, by the framework that wrote them."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any

from determined._tensorflow import _exported

_OF_TRIALS = ("load_data.json", "state_dict.pth", "state-dict.pth", "model.pth")


def check(uuid: str, framework: str, format: str, files: Iterable[str]) -> None:
    """Says now what would be found after the download only. ``files`` may be unknown: empty.

    Raises:
        AssertionError: the checkpoint is none that can be loaded.
        ImportError: TensorFlow wrote it, which is not installed here.
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
    """What a downloaded checkpoint of TensorFlow holds: a model of Keras, or the SavedModel of an Estimator."""
    if format == "saved_weights":
        from determined.keras._load import load_model_from_checkpoint_path

        return load_model_from_checkpoint_path(path, tags)
    from determined.estimator._load import load_estimator_from_checkpoint_path

    return load_estimator_from_checkpoint_path(path, tags)
