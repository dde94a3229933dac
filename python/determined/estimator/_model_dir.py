"""Sets the ``model_dir`` of Estimators that have none to a temporary directory of the trial, without a warning.

The platform stores the checkpoints, so only the user's code writes there.
"""

from __future__ import annotations

import tempfile
from typing import Any

from tensorflow_estimator.python.estimator import estimator

from determined._tensorflow import _scratch
from determined._tensorflow._framework import tf

_overwritten = estimator.maybe_overwrite_model_dir_and_session_config


def _with_directory(config: Any, model_dir: Any) -> Any:
    config = tf.estimator.RunConfig() if config is None else config
    if model_dir is None and isinstance(config, tf.estimator.RunConfig) and config.model_dir is None:
        model_dir = tempfile.mkdtemp(prefix="estimator-", dir=_scratch.root())
    return _overwritten(config, model_dir)


def take_ours() -> None:
    """Applies this from now on, in the whole process."""
    estimator.maybe_overwrite_model_dir_and_session_config = _with_directory
