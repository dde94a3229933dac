"""``init`` and ``close``: one context for the whole program, or a context for a ``with`` block."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from typing import Any

from determined import core
from determined._info import get_trial_cluster_info
from determined.core import DistributedContext, PreemptMode, TensorboardMode
from determined.core._context import Context, make_storage
from determined.experimental._determined import Determined
from determined.experimental.core_v2._config import Config, merged, storage_section
from determined.experimental.core_v2._context import UnmanagedContext
from determined.experimental.core_v2._tracking import track

NAMES = ("train", "checkpoint", "distributed", "preempt", "searcher")

_context: Context | None = None
_names_of_trial: tuple[str | None, str | None] = (None, None)
_registered = False


class NotBegun:
    """The value of ``core_v2.train`` and so on while there is no trial. It is false and has no methods."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<core_v2.{self._name}, which is not there before core_v2.init()>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"core_v2.{self._name}.{name} is unavailable without a trial; call core_v2.init() first, and "
            "core_v2.close() last"
        )


def init_context(
    *,
    config: Config | None = None,
    defaults: Config | None = None,
    unmanaged: Config | None = None,
    client: Determined | None = None,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Returns a context for a ``with`` block. The trial ends with the block, as failed if it raises an exception.

    ``client`` is the session to use, by default ``Determined()``. ``distributed`` connects several processes into one
    trial; each of them must call this. ``defaults`` and ``unmanaged`` are deprecated names of parts of ``config``.

    Raises:
        ValueError: ``config`` is missing outside a cluster; or it has an ``external_trial_id`` but no
            ``external_experiment_id``.
        UnauthenticatedException: no user is logged in.
        MasterNotFoundException: no master answers at the address.
    """
    on_cluster = get_trial_cluster_info() is not None
    config = merged(config, defaults, unmanaged, on_cluster=on_cluster)
    if on_cluster:
        return core.init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
        )
    ranks = distributed or DistributedContext.single()
    given = checkpoint_storage if checkpoint_storage is not None else config.checkpoint_storage
    section = storage_section(given)
    storage, shared_root = make_storage(section, probe=ranks.rank == 0)  # before anything is made at the master
    info = track(client, config, section, ranks)
    known = info.trial.experiment_config.get("checkpoint_storage") or {}
    if given is None and known.get("type") == "directory" and known != section:
        storage, shared_root = make_storage(known, probe=False)  # where the experiment's checkpoints are already
    return UnmanagedContext(
        distributed=ranks,
        info=info,
        storage=storage,
        shared_root=shared_root,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
        owns_distributed=distributed is None,
    )


def init(
    *,
    config: Config | None = None,
    defaults: Config | None = None,
    unmanaged: Config | None = None,
    client: Determined | None = None,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> None:
    """Starts the program's trial and sets ``core_v2.train``, ``core_v2.checkpoint`` and so on; see
    :func:`init_context`.

    The trial ends with :func:`close`, with the next ``init``, or with the program: as completed, or as failed after an
    exception or a ``sys.exit`` with another status than 0. If the next ``init`` fails, the trial continues, unless both
    have the same ids.
    """
    global _context, _names_of_trial, _registered
    names = _names(config, defaults, unmanaged)
    if names[1] is not None and names == _names_of_trial:
        close()  # a trial is run by one at a time
    context = init_context(
        config=config,
        defaults=defaults,
        unmanaged=unmanaged,
        client=client,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )
    close()
    context.__enter__()
    _context, _names_of_trial = context, names
    _set(context)
    if not _registered:
        atexit.register(close)
        _registered = True


def close() -> None:
    """Ends the trial that :func:`init` started; does nothing without one."""
    global _context, _names_of_trial
    context, _context, _names_of_trial = _context, None, (None, None)
    _set(None)
    if context is not None:
        context.close()


def url_reverse_webui_exp_view() -> str:
    """The URL of the experiment in the web interface.

    Raises:
        RuntimeError: :func:`init` was not called.
    """
    if _context is None or _context.info is None:
        raise RuntimeError("there is no experiment yet; call core_v2.init() first")
    return f"{_context.info.master_url}/det/experiments/{_context.info.trial.experiment_id}"


def _names(*configs: Config | None) -> tuple[str | None, str | None]:
    """The external ids of the experiment and of the trial, from whichever configuration has them."""
    given = [config for config in configs if config is not None]
    experiment, trial = (
        next((found for config in given if (found := getattr(config, name))), None)
        for name in ("external_experiment_id", "external_trial_id")
    )
    return experiment, trial


def _set(context: Context | None) -> None:
    package: Any = sys.modules[__package__]  # its names are what `init` sets
    for name in NAMES:
        setattr(package, name, getattr(context, name) if context is not None else NotBegun(name))
    package.info = context.info if context is not None else None
