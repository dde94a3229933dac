"""Tracks a program anywhere: a notebook, a laptop, another scheduler.

::

    import determined.track as track

    run = track.init(project="digits", config={"lr": 0.1})
    for step in range(100):
        track.log({"loss": train(step)}, step=step)
    track.finish()

What is logged goes to a directory first and from there to the master, as an unmanaged experiment of the logged-in user
(``det user login``, or ``DET_MASTER``, ``DET_USER`` and ``DET_PASS``). See ``docs/guide/track.md``.
"""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from determined import _metrics
from determined.track._imports import import_runs as _import_runs
from determined.track._media import Audio, Histogram, Image, Media, Table, Text
from determined.track._run import BEGIN_SECONDS, FINISH_SECONDS, Run, begin, texts
from determined.track._sender import sync as _sync

run: Run | None = None
"""The run that :func:`init` began; None without one."""
_registered = False


def init(
    project: str | None = None,
    workspace: str | None = None,
    name: str | None = None,
    config: Any = None,
    tags: Sequence[str] | None = None,
    resume: str | None = None,
    mode: str | None = None,
    *,
    description: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    checkpoint_storage: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    metric: str | None = None,
    smaller_is_better: bool = True,
) -> Run:
    """Begins a run, and ends the one before. Workspace and project are created if they do not exist.

    ``config`` has the hyperparameters: a dict, or an ``argparse.Namespace``. ``resume`` is the ``id`` of a run to go on
    with, or of a new one. ``mode`` is ``online`` or ``offline``, by default ``DET_TRACK_MODE`` or online; an offline
    run stays in ``directory`` until ``python -m determined.track sync DIRECTORY`` sends it. ``checkpoint_storage`` is
    where artifacts and event files are stored, as for :class:`determined.experimental.core_v2.Config`. ``metric`` is
    the validation metric by which runs are compared.

    Raises:
        ValueError: an argument is invalid.
        FileExistsError: the directory has another run.
        APIException: the master refuses the run, such as when no user is logged in. If it does not answer, the run
            begins without it.
    """
    global run, _registered
    chosen = mode or os.environ.get("DET_TRACK_MODE") or "online"
    if chosen not in ("online", "offline"):
        raise ValueError(f"mode is {chosen!r}; it must be 'online' or 'offline'")
    if resume is not None and (not isinstance(resume, str) or not resume):
        raise ValueError(f"resume is {resume!r}; it must be the id of a run, such as run.id")
    for key, value in (("project", project), ("workspace", workspace), ("name", name), ("metric", metric)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise ValueError(f"{key} is {value!r}; it must be a name")
    identifier = resume or str(uuid.uuid4())
    storage = os.fspath(checkpoint_storage) if isinstance(checkpoint_storage, os.PathLike) else checkpoint_storage
    described = {
        "id": identifier,
        "name": name or f"run-{identifier[:8]}",
        "project": project,
        "workspace": workspace,
        "description": description,
        "config": _plain_config(config),
        "tags": texts(tags, "tags"),
        "storage": storage,
        "searcher": {"name": "custom", "metric": metric, "smaller_is_better": smaller_is_better} if metric else None,
    }
    if run is not None:
        run.finish()
    run = None
    path = pathlib.Path(directory) if directory else None
    made = begin(described, directory=path, online=chosen == "online", resumed=resume is not None)
    made.await_begin(BEGIN_SECONDS)
    run = made
    if not _registered:
        atexit.register(finish)
        _registered = True
    return run


def log(values: Mapping[str, Any], step: int | None = None, *, group: str = "training") -> None:
    """See :meth:`Run.log`."""
    _current().log(values, step, group=group)


def log_artifact(
    path: str | os.PathLike[str],
    name: str | None = None,
    step: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> str:
    """See :meth:`Run.log_artifact`."""
    return _current().log_artifact(path, name, step, metadata)


def set_metadata(metadata: Mapping[str, Any]) -> None:
    """See :meth:`Run.set_metadata`."""
    _current().set_metadata(metadata)


def finish(error: str | BaseException | None = None, timeout: float | None = FINISH_SECONDS) -> bool:
    """Ends the run that :func:`init` began, see :meth:`Run.finish`; does nothing without one."""
    global run
    ending, run = run, None
    return ending.finish(error, timeout) if ending is not None else True


def sync(directory: str | os.PathLike[str]) -> int:
    """Sends what the master does not have of a run's directory. Returns the number of the experiment."""
    return _sync(pathlib.Path(directory).absolute()).trial.experiment_id


def import_tensorboard(
    path: str | os.PathLike[str], project: str | None = None, workspace: str | None = None
) -> list[int]:
    """Sends the runs of a directory with event files. Returns the numbers of their experiments, the same each time.

    Raises:
        FileNotFoundError: there is no such directory.
        ValueError: it has no run, or the package that reads it is not installed.
    """
    return [sync(found) for found in _import_runs("tensorboard", pathlib.Path(path), project, workspace)]


def import_mlflow(path: str | os.PathLike[str], project: str | None = None, workspace: str | None = None) -> list[int]:
    """The same for a directory ``mlruns`` of MLflow."""
    return [sync(found) for found in _import_runs("mlflow", pathlib.Path(path), project, workspace)]


def import_wandb(path: str | os.PathLike[str], project: str | None = None, workspace: str | None = None) -> list[int]:
    """The same for a directory of offline runs of W&B."""
    return [sync(found) for found in _import_runs("wandb", pathlib.Path(path), project, workspace)]


def _current() -> Run:
    if run is None:
        raise RuntimeError("there is no run; call track.init() first")
    return run


def _plain_config(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    values = vars(config) if not isinstance(config, Mapping) and hasattr(config, "__dict__") else config
    if not isinstance(values, Mapping):
        raise TypeError(f"config is {config!r}; it must be a dict, or an argparse.Namespace")
    plain: dict[str, Any] = json.loads(_metrics.to_json(dict(values), "config"))
    return plain


__all__ = [
    "Audio",
    "Histogram",
    "Image",
    "Media",
    "Run",
    "Table",
    "Text",
    "finish",
    "import_mlflow",
    "import_tensorboard",
    "import_wandb",
    "init",
    "log",
    "log_artifact",
    "run",
    "set_metadata",
    "sync",
]
