"""The MLflow client of bench/tracking.py. It uses the fluent API, as MLflow's users do.

Usage: mlflow_runs.py TRACKING_URI

A thousand points per call are a thousand steps of one metric, through `log_batch`.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from typing import Any

os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true", GIT_PYTHON_REFRESH="quiet")

import mlflow
from mlflow.entities import Metric
from turns import answer, for_seconds, values

BATCH = 1000  # the limit of log_batch

uri = sys.argv[1]
mlflow.set_tracking_uri(uri)
client = mlflow.MlflowClient(uri)
run = mlflow.start_run().info.run_id
steps = itertools.count()


def one(step: int) -> None:
    mlflow.log_metric("loss", 1.0 / (1 + step), step=step)


def ten(step: int) -> None:
    mlflow.log_metrics(values(step), step=step)


def batch(run_id: str, first: int, count: int) -> None:
    now = int(time.time() * 1000)
    client.log_batch(run_id, [Metric("loss", 1.0 / (1 + s), now, s) for s in range(first, first + count)])


def write(seconds: float, metrics: int) -> dict[str, Any]:
    many = {1: one, 10: ten, BATCH: lambda step: batch(run, step * BATCH, BATCH)}
    done = for_seconds(seconds, many[metrics], steps)
    return {"points": done["calls"] * metrics, "seconds": time.monotonic() - done["begin"]}


def fill(points: int) -> dict[str, Any]:
    run_id = client.create_run("0").info.run_id
    begin = time.monotonic()
    for first in range(0, points, BATCH):
        batch(run_id, first, min(BATCH, points - first))
    return {"curve": run_id, "seconds": time.monotonic() - begin}


def whole(curve: str) -> dict[str, Any]:
    begin = time.monotonic()
    history = client.get_metric_history(curve, "loss")
    return {"points": len(history), "seconds": time.monotonic() - begin}


answer({"write": write, "fill": fill, "whole": whole})
