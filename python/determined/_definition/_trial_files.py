"""What the checkpoints of all families of trials have in common."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import sys
from typing import Any

from determined._definition._source import SourceSnapshot
from determined._env import EnvContext
from determined._ranks._distributed import DistributedContext

logger = logging.getLogger("determined")


def write_definition(
    directory: pathlib.Path, family: str, trial_class: type, env: EnvContext, source: SourceSnapshot | None
) -> None:
    """The source and what it takes to build the trial again without the platform."""
    described = {
        "trial_type": family,
        "trial_cls_spec": f"{module_of(trial_class)}:{trial_class.__qualname__}",
        "experiment_config": env.experiment_config,
        "hparams": env.hparams,
    }
    (directory / "load_data.json").write_text(json.dumps(described, indent=2) + "\n")
    if source is not None:
        source.write(directory / "code")


def add_older_name(directory: pathlib.Path) -> None:
    """Makes ``state-dict.pth`` readable as ``state_dict.pth`` too, where the file system can without a copy."""
    state = directory / "state-dict.pth"
    if state.is_file() and not (directory / "state_dict.pth").exists():
        with contextlib.suppress(OSError):
            os.link(state, directory / "state_dict.pth")


def module_of(trial_class: type) -> str:
    """The module to import the class from; a script that runs is not called ``__main__`` for others."""
    if trial_class.__module__ != "__main__":
        return trial_class.__module__
    file = getattr(sys.modules["__main__"], "__file__", None)
    return pathlib.Path(file).stem if file else "__main__"


def of_this_rank(rest: dict[str, Any], ranks: DistributedContext) -> dict[str, Any]:
    """What a checkpoint holds for this rank alone; for a rank that it does not know, what it holds for rank 0."""
    others = rest.get("other_ranks", [])
    if len(others) + 1 != ranks.size:
        if ranks.rank == 0:
            logger.warning(
                "the checkpoint is of %d slots, this trial has %d: what only single slots had (generators, "
                "waiting gradients, states of callbacks) is taken from the first",
                len(others) + 1,
                ranks.size,
            )
        return rest
    return rest if ranks.rank == 0 else {**rest, **others[ranks.rank - 1]}
