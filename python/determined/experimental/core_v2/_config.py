"""The description of an experiment that runs outside a cluster."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import secrets
import urllib.parse
import warnings
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass
class Config:
    """The description of the experiment. Used only outside a cluster.

    ``external_experiment_id`` identifies the experiment: the first program with this id creates it, with its
    configuration; later ones add trials to it. ``external_trial_id`` identifies the trial in it: a program with the
    same two ids resumes that trial from its latest checkpoint. Without them, every run is an experiment of its own.

    ``searcher`` describes a search that runs elsewhere; its ``metric`` and ``smaller_is_better`` define which trial is
    the best. ``checkpoint_storage`` is a directory, or a section as in configurations of experiments; by default
    ``~/.local/share/determined/checkpoints``.
    """

    name: str | None = None
    hparams: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    description: str | None = None
    labels: list[str] | None = None
    workspace: str | None = None
    project: str | None = None
    checkpoint_storage: str | dict[str, Any] | None = None
    searcher: dict[str, Any] | None = None
    external_experiment_id: str | None = None
    external_trial_id: str | None = None


class DefaultConfig(Config):
    """Deprecated name of :class:`Config`."""

    def __init__(self, **fields: Any) -> None:
        warnings.warn("DefaultConfig is deprecated; use Config", FutureWarning, stacklevel=2)
        super().__init__(**fields)


class UnmanagedConfig(Config):
    """Deprecated name of :class:`Config`."""

    def __init__(self, **fields: Any) -> None:
        warnings.warn("UnmanagedConfig is deprecated; use Config", FutureWarning, stacklevel=2)
        super().__init__(**fields)


def merged(config: Config | None, defaults: Config | None, unmanaged: Config | None, *, on_cluster: bool) -> Config:
    """Returns the configuration from the three arguments, the last two of which are deprecated.

    Raises:
        ValueError: it is missing outside a cluster.
    """
    if defaults is not None or unmanaged is not None:
        warnings.warn("defaults and unmanaged are deprecated; pass config=Config(…)", FutureWarning, stacklevel=3)
    if config is not None:
        return config
    if defaults is None:
        if not on_cluster:
            raise ValueError("core_v2.init() outside the cluster needs config=core_v2.Config(…)")
        return unmanaged or Config()
    if unmanaged is None:
        return defaults
    names = ("project", "workspace", "external_experiment_id", "external_trial_id")
    both = {name: getattr(defaults, name) or getattr(unmanaged, name) for name in names}
    return Config(**{**vars(defaults), **both})


def storage_section(given: str | os.PathLike[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns a ``checkpoint_storage`` section. A directory is one of this machine.

    Raises:
        ValueError: the storage is unknown.
    """
    if given is None:
        home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        given = os.path.join(home, "determined", "checkpoints")
    if isinstance(given, Mapping):
        return dict(given)
    parts = urllib.parse.urlsplit(os.fspath(given))
    if parts.scheme in ("", "file"):
        path = pathlib.Path(parts.path if parts.scheme else os.fspath(given))
        return {"type": "directory", "container_path": str(path.absolute())}
    kinds = {"s3": "s3", "gs": "gcs"}
    if parts.scheme not in kinds or parts.query or parts.fragment:
        raise ValueError(
            f"checkpoint_storage is {given!r}; it must be a directory, s3://bucket/prefix or gs://bucket/prefix"
        )
    return {"type": kinds[parts.scheme], "bucket": parts.netloc, "prefix": parts.path.lstrip("/")}


def document(config: Config, storage: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment configuration that the master stores."""
    fields = {
        "name": config.name or f"unmanaged-{secrets.token_hex(4)}",
        "description": config.description,
        "labels": config.labels,
        "data": config.data,
        "searcher": config.searcher or {"name": "single", "metric": "unmanaged"},
        "workspace": config.workspace,
        "project": config.project,
        "checkpoint_storage": dict(storage),
    }
    found: dict[str, Any] = json.loads(json.dumps({key: value for key, value in fields.items() if value is not None}))
    return found
