"""The parts of checkpoints that all kinds of trials share."""

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
    """Writes the source and everything else that is needed to build the trial again outside a cluster."""
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
    """Makes ``state-dict.pth`` available as ``state_dict.pth`` as well, if the file system can do so without a copy."""
    state = directory / "state-dict.pth"
    if state.is_file() and not (directory / "state_dict.pth").exists():
        with contextlib.suppress(OSError):
            os.link(state, directory / "state_dict.pth")


def module_of(trial_class: type) -> str:
    """The module from which others import the class; a running script is not called ``__main__`` there."""
    if trial_class.__module__ != "__main__":
        return trial_class.__module__
    file = getattr(sys.modules["__main__"], "__file__", None)
    return pathlib.Path(file).stem if file else "__main__"


def slots_of(rest: dict[str, Any]) -> int:
    """The number of slots on which a checkpoint was saved."""
    return len(rest.get("other_ranks", [])) + 1


def of_this_rank(rest: dict[str, Any], ranks: DistributedContext) -> dict[str, Any]:
    """A checkpoint with the part of this rank; for a rank that the checkpoint does not have, with that of rank 0."""
    saved = slots_of(rest)
    if saved != ranks.size and ranks.rank == 0:
        logger.warning(
            "the checkpoint was saved on %d slots, and the trial resumes on %d%s",
            saved,
            ranks.size,
            ": new slots start with the random number generators and callbacks of the first one"
            if ranks.size > saved
            else "",
        )
    return {**rest, **rest["other_ranks"][ranks.rank - 1]} if 0 < ranks.rank < saved else dict(rest)
