"""Trains a DeepSpeed trial from a script, on a cluster or outside one."""

from __future__ import annotations

from typing import Any, ClassVar

from determined._ranks._distributed import DistributedContext
from determined.pytorch import _trainer, _trainer_context
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._controller import DeepSpeedTrialController
from determined.pytorch.deepspeed._trial import DeepSpeedTrial


class Trainer(_trainer.Trainer):
    """Like :class:`determined.pytorch.Trainer`, for a :class:`DeepSpeedTrial`."""

    trial_class: ClassVar[Any] = DeepSpeedTrial


def init(
    *,
    hparams: dict[str, Any] | None = None,
    exp_conf: dict[str, Any] | None = None,
    distributed: DistributedContext | None = None,
    enable_tensorboard_logging: bool = True,
) -> _trainer_context.TrainerContext:
    """Like :func:`determined.pytorch.init`; the context is a :class:`DeepSpeedTrialContext`. Start a script for several
    slots with ``python3 -m determined.launch.deepspeed``.

    Example::

        with det.pytorch.deepspeed.init() as context:
            trainer = det.pytorch.deepspeed.Trainer(MyTrial(context), context)
            trainer.fit(max_length=det.pytorch.Batch(1000))
    """
    return _trainer_context.open_context(
        DeepSpeedTrialController,
        DeepSpeedTrialContext,
        hparams=hparams,
        exp_conf=exp_conf,
        distributed=distributed,
        enable_tensorboard_logging=enable_tensorboard_logging,
    )
