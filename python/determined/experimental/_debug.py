"""Trials outside a cluster."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from determined._env import EnvContext
from determined._run import _local_run
from determined._trial import Trial


def create_trial_instance(
    trial_def: type[Trial],
    checkpoint_dir: str | None = None,
    config: Mapping[str, Any] | None = None,
    hparams: dict[str, Any] | None = None,
) -> Trial:
    """Creates a trial with a context outside a cluster: nothing is reported, and ``wrap_model`` and similar methods
    only record their arguments.

    ``checkpoint_dir`` is ignored; older code passes it.

    Example::

        trial = create_trial_instance(MyTrial, hparams={"global_batch_size": 32, "lr": 0.1})
        batch = next(iter(trial.build_training_data_loader()))
    """
    env = EnvContext.for_debugging(config or {}, managed=False, hparams=hparams)
    instance: Any = trial_def(trial_def.trial_context_class(env))
    return instance  # type: ignore[no-any-return]


def test_one_batch(
    trial_class: type[Trial] | None = None, config: Mapping[str, Any] | None = None, **former: Any
) -> None:
    """Trains one batch of the trial, validates, saves and loads it in this process, without a master."""
    from determined import _runtime

    found = trial_class or former.get("trial_def")
    if found is None:
        raise TypeError("trial_class is None; pass a trial class to test_one_batch()")
    if not logging.getLogger().handlers:  # show progress even if the script has not set up logging
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    _local_run.test_one_batch(found, config or {}, rules=_runtime)


test_one_batch.__test__ = False  # type: ignore[attr-defined]  # no test of pytest's
