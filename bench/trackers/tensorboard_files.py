"""The TensorBoard client of bench/tracking.py. It writes event files through PyTorch's SummaryWriter.

Usage: tensorboard_files.py HOW DIRECTORY TORCH

HOW is one of:

- `queued`: leave the writing to the writer's thread;
- `flushed`: after each report, wait until the kernel has it;
- `synced`: after each report, wait until the disk has it, as the other clients do.

TORCH is the package directory that holds PyTorch, for an interpreter without it.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import sys
import time
from typing import Any

from turns import answer, for_seconds, values

sys.path.append(sys.argv[3])
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

how, place = sys.argv[1], pathlib.Path(sys.argv[2])
steps = itertools.count()
writer = SummaryWriter(str(place / how))
file = os.open(next((place / how).iterdir()), os.O_RDONLY)


def keep() -> None:
    if how != "queued":
        writer.flush()
    if how == "synced":
        os.fsync(file)


def one(step: int) -> None:
    writer.add_scalar("loss", 1.0 / (1 + step), step)
    keep()


def ten(step: int) -> None:
    for name, value in values(step).items():
        writer.add_scalar(name, value, step)
    keep()


def write(seconds: float, metrics: int) -> dict[str, Any]:
    done = for_seconds(seconds, one if metrics == 1 else ten, steps)
    writer.flush()
    return {"points": done["calls"] * metrics, "seconds": time.monotonic() - done["begin"]}


def fill(points: int) -> dict[str, Any]:
    begin = time.monotonic()
    directory = str(place / f"curve-{points}")
    with SummaryWriter(directory) as curve:
        for step in range(points):
            curve.add_scalar("loss", 1.0 / (1 + step), step)
    return {"curve": directory, "seconds": time.monotonic() - begin}


def whole(curve: str) -> dict[str, Any]:
    begin = time.monotonic()
    events = EventAccumulator(curve, size_guidance={"scalars": 0}).Reload().Scalars("loss")
    return {"points": len(events), "seconds": time.monotonic() - begin}


answer({"write": write, "fill": fill, "whole": whole})
