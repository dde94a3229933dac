"""Finds the SavedModel in a checkpoint. Does not need TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable


def only(files: Iterable[str], checkpoint: str) -> str:
    """The directory of the one SavedModel among the files of a checkpoint.

    Raises:
        AssertionError: there is none, or several. The message says how to load the checkpoint instead.
    """
    found = sorted(
        name.removesuffix("/saved_model.pb")
        for name in files
        if name.endswith("/saved_model.pb") and not name.startswith("code/")
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise AssertionError(
            f"checkpoint {checkpoint} holds {len(found)} SavedModels; load() needs exactly one. Download the "
            f"checkpoint, and pass one of its directories ({', '.join(found)}) to tf.saved_model.load()"
        )
    raise AssertionError(
        f"checkpoint {checkpoint} holds no SavedModel, so only its variables can be read. Download the checkpoint, "
        "and pass tf.train.latest_checkpoint() of its directory to tf.train.load_checkpoint(). An EstimatorTrial "
        "exports a SavedModel for each function of build_serving_input_receiver_fns()"
    )
