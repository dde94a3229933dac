"""What a program outside the cluster says of its experiment."""

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
    """What is shown of the experiment. Used outside the cluster only.

    ``external_experiment_id`` names the experiment: all programs that give the same name add trials to the same one,
    and the first of them makes it, with its configuration. ``external_trial_id`` names the trial in it: a program that
    gives the same names goes on with that trial, from its latest checkpoint. Without them every run is an experiment
    of its own.

    ``searcher`` describes a search that runs elsewhere: its ``metric`` and ``smaller_is_better`` say which trial is
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
    """Use :class:`Config`."""

    def __init__(self, **fields: Any) -> None:
        warnings.warn("DefaultConfig is deprecated; use Config", FutureWarning, stacklevel=2)
        super().__init__(**fields)


class UnmanagedConfig(Config):
    """Use :class:`Config`."""

    def __init__(self, **fields: Any) -> None:
        warnings.warn("UnmanagedConfig is deprecated; use Config", FutureWarning, stacklevel=2)
        super().__init__(**fields)


def merged(config: Config | None, defaults: Config | None, unmanaged: Config | None, *, on_cluster: bool) -> Config:
    """The one configuration of three; the last two are the older way to say it.

    Raises:
        ValueError: there is none, outside the cluster.
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
    """A ``checkpoint_storage`` section; a directory is taken as it is on this machine.

    Raises:
        ValueError: it is an address of no storage that we know.
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
    """The experiment configuration that the master keeps."""
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
