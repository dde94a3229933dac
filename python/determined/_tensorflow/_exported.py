"""Which of a checkpoint's files are SavedModels. Needs no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable


def only(files: Iterable[str], checkpoint: str) -> str:
    """The directory of the one SavedModel among the files of a checkpoint.

    Raises:
        AssertionError: there is none, or several; what to do in place of it is said.
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
            f"checkpoint {checkpoint} holds {len(found)} SavedModels; only a single one can be loaded: download the "
            "checkpoint, and pass "
            f"one of its directories ({', '.join(found)}) to tf.saved_model.load()"
        )
    raise AssertionError(
        f"checkpoint {checkpoint} holds no SavedModel, so only its variables can be read: download the checkpoint, "
        "and pass "
        "tf.train.latest_checkpoint() of its directory to tf.train.load_checkpoint(). An EstimatorTrial exports one "
        "for each function of build_serving_input_receiver_fns()"
    )
