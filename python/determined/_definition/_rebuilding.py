"""Loads the trial class of a checkpoint from the source that is stored with it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from determined._definition import _entrypoint, _native
from determined._env import EnvContext
from determined._trial import Trial
from determined.common import check


def description(root: pathlib.Path) -> dict[str, Any]:
    """Returns the checkpoint's description from ``load_data.json`` or, in older checkpoints, from ``metadata.json``."""
    described = _description(root)
    if described is not None:
        return described
    if is_pickled_model(root):
        raise FileNotFoundError(
            f"{root} is a checkpoint of version 0.12.4 or older, a pickled model without a description of its trial; "
            "load it with Checkpoint.load_from_path()"
        )
    raise FileNotFoundError(
        f"{root} has no load_data.json: it is not a checkpoint of a trial class, or it is incomplete"
    )


def is_pickled_model(root: pathlib.Path) -> bool:
    """Whether this is a checkpoint of version 0.12.4 or older, which has the whole model in ``model.pth``."""
    return (root / "model.pth").is_file() and _description(root) is None


def _description(root: pathlib.Path) -> dict[str, Any] | None:
    for name in ("load_data.json", "metadata.json"):
        if (root / name).is_file():
            described = json.loads((root / name).read_text())
            if "experiment_config" in described and "hparams" in described:
                described.setdefault("trial_cls_spec", described["experiment_config"].get("entrypoint"))
                return dict(described)
    return None


def source(root: pathlib.Path, otherwise: str) -> str:
    """Returns the directory with the trial's source. ``otherwise`` tells the user what to do if there is none."""
    code = root / "code"
    if not code.is_dir():
        check.fail(
            f"checkpoint {root.name} without a directory code/", "a directory code/ with the trial's source", otherwise
        )
    return str(code)


def trial_class(described: dict[str, Any], code: str, env: EnvContext | None = None) -> type[Trial]:
    """Returns the class. A script that submits itself is stopped at that call. ``env`` is for scripts of the Native
    API.
    """
    if described.get("language") == "c++":
        check.fail(
            f"a checkpoint of {described['trial_cls_spec']}, a trial in C++",
            "one in Python",
            "pass trial_class=, a PyTorchTrial with the same models, or read the weights from its state_dict.pth",
        )
    command = _native.command_of(described["experiment_config"])
    if command is not None and env is not None:
        return _native.load(command, code, env)
    found: type[Trial] | None = None
    with _native.recorded() as handed_over:
        found = _entrypoint.load_trial_class(described["trial_cls_spec"], code)
    return found or handed_over[0]
