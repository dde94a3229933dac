"""Rebuilds the model of a checkpoint, inside or outside the cluster."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from determined._definition import _entrypoint, _rebuilding
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._tensorflow import _earlier, _era
from determined.common import check
from determined.keras._controller import TFKerasTrialController
from determined.keras._trial import TFKerasTrial
from determined.keras._weights import WEIGHTS, take


def load_model_from_checkpoint_path(path: str | os.PathLike[str], tags: list[str] | None = None) -> Any:
    """The compiled ``tf.keras`` model of a downloaded checkpoint, with its weights, outside the platform.

    It is the result of ``build_model()`` of the source code in the checkpoint (``code/``). Optimizers start afresh.
    ``tags`` has no effect.

    Example::

        model = load_model_from_checkpoint_path("checkpoints/6d3b…")
        model.predict(images)

    Raises:
        CheckFailedError: the checkpoint is not from a ``TFKerasTrial``, or its source builds another model.
        FileNotFoundError: the directory does not contain a trial's checkpoint.
    """
    root = pathlib.Path(path)
    described = _rebuilding.description(root)
    env = EnvContext(
        experiment_config=ExperimentConfig(described["experiment_config"]),
        hparams=dict(described["hparams"]),
        trial_seed=0,
        managed_training=False,
    )
    TFKerasTrialController.prepare_process(env, 1)
    code = _rebuilding.source(root, "its weights can be read with tf.train.load_checkpoint()")
    era, _ = _era.of(described["experiment_config"], pathlib.Path(code))
    with _earlier.taken(era is not _era.Era.OURS), _entrypoint.importable(code):
        found = _rebuilding.trial_class(described, code, env)
        if not issubclass(found, TFKerasTrial):
            check.fail(f"a {found.__name__} in the checkpoint", "a TFKerasTrial")
            raise AssertionError
        model = found(found.trial_context_class(env)).build_model()
    _set_weights(model, root)
    return model


def _set_weights(model: Any, root: pathlib.Path) -> None:
    weights = str(root / WEIGHTS)
    if not model.built:  # Keras sets the weights when it builds the model
        model.load_weights(weights).expect_partial()
        return
    taken, count = take(model, weights)
    if taken != count:
        check.fail(
            f"a model of {count} variables, {taken} of which are in the checkpoint {root.name}",
            "the model that was trained",
            "build_model() must build the same model as during training",
        )
