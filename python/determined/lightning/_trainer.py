"""A Lightning trainer with the platform's parts."""

from __future__ import annotations

import os
from typing import Any

from determined.core._context import Context
from determined.lightning._callback import DetCallback
from determined.lightning._environment import DetEnvironment
from determined.lightning._library import pl
from determined.lightning._logger import DetLogger


class Trainer(pl.Trainer):  # type: ignore[misc]
    """``lightning.Trainer`` with a :class:`DetLogger`, a :class:`DetCallback`, and the processes of the trial.

    ``fit()`` resumes from the latest checkpoint. Lightning's own checkpoints and progress bar are off, unless a
    ``ModelCheckpoint`` or ``enable_progress_bar`` is given. Arguments are those of ``lightning.Trainer``.
    """

    def __init__(self, core_context: Context, **kwargs: Any) -> None:
        callbacks = kwargs.pop("callbacks", None) or []
        callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        own = [one for one in callbacks if isinstance(one, DetCallback)]
        self.det_callback: DetCallback = own[0] if own else DetCallback(core_context)
        loggers = kwargs.pop("logger", None)
        loggers = [] if loggers in (None, True, False) else loggers
        kwargs.setdefault("enable_progress_bar", False)
        if core_context.distributed.size > 1:
            plugins = kwargs.pop("plugins", None) or []
            plugins = plugins if isinstance(plugins, list) else [plugins]
            kwargs["plugins"] = [*plugins, DetEnvironment(core_context)]
            kwargs.setdefault("devices", core_context.distributed.local_size)
            kwargs.setdefault("num_nodes", core_context.distributed.cross_size)
            kwargs.setdefault("strategy", "ddp")
        super().__init__(
            callbacks=callbacks if own else [*callbacks, self.det_callback],
            logger=[DetLogger(core_context), *(loggers if isinstance(loggers, list) else [loggers])],
            default_root_dir=kwargs.pop("default_root_dir", None) or os.getcwd(),
            **kwargs,
        )

    def fit(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("ckpt_path") is None and len(args) < 5 and self.det_callback.ckpt_path is not None:
            kwargs["ckpt_path"] = self.det_callback.ckpt_path
            kwargs.setdefault("weights_only", False)  # it is ours
        super().fit(*args, **kwargs)
