"""How ``init()`` of the Native API starts: in a script that a user runs, and when the cluster runs it again."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from determined._definition import _native
from determined._env import EnvContext
from determined._run import _launch, _local_run
from determined._train_context import TrialContext
from determined._trial import Trial, TrialController
from determined.experimental._create import DEFAULTS, Mode, submit

logger = logging.getLogger("determined")

Context = TypeVar("Context", bound=TrialContext)


def begin(
    family: Callable[[], tuple[type[Context], type[TrialController]]],
    config: Mapping[str, Any] | None,
    local: bool,
    test: bool,
    context_dir: str,
    command: Sequence[str] | None,
    master_url: str | None,
    mode: Mode | None,
) -> Context:
    """Returns a live context where the script is to train. Elsewhere, submits the script and exits with status 0.

    ``family`` imports the framework, which is not needed to submit the script.
    """
    if mode is not None:
        local = mode is Mode.LOCAL
        test = test or local
    around = _native.surroundings()
    if around is not None and around.env is not None:
        env = around.env
    elif local:
        if not test:
            logger.warning("local=True runs only a test: one batch, one validation, one checkpoint")
        env = EnvContext.for_debugging({**DEFAULTS, **(config or {})}, managed=True)
        if context_dir:
            _launch.enter(context_dir)
    else:
        submit(config, test=test, context_dir=context_dir, command=command, master_url=master_url)
        sys.exit(0)
    kind, controller = family()
    controller.prepare_process(env, _launch.threads(os.environ))
    return kind(env, around.distributed if around is not None else None)


def hand_over(context: TrialContext, trial_class: type[Trial]) -> None:
    """Trains what a script has assembled. On a cluster, the script ends here; otherwise one batch is trained."""
    if _native.recording():
        _native.record(trial_class)
    from determined import _runtime

    _local_run.test_one_batch(trial_class, context.env.experiment_config, rules=_runtime)


def attached(context: TrialContext) -> Any:
    """A ``trial_context_class`` that passes the script's own context to the trial created from it."""

    def attach(env: EnvContext, distributed: Any = None) -> TrialContext:
        context.env = env
        if distributed is not None:
            context.distributed = distributed
        return context

    return staticmethod(attach)
