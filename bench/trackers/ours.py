"""This platform's client of bench/tracking.py: the Core API outside the cluster, or the REST API.

Usage: ours.py HOW URL STORAGE

HOW is one of:

- `core`: report through `core_v2.train`, which also writes TensorBoard's files;
- `plain`: the same without those files;
- `rest`: post the reports over one connection.

STORAGE is the directory for checkpoints.
"""

from __future__ import annotations

import http.client
import itertools
import json
import sys
import time
import urllib.parse
from typing import Any

from turns import answer, for_seconds, values

from determined.experimental import Determined, core_v2

how, url = sys.argv[1], sys.argv[2]
client = Determined(master=url, user="determined", password="")
MODES = {"core": core_v2.TensorboardMode.AUTO, "plain": core_v2.TensorboardMode.MANUAL}
context = core_v2.init_context(
    config=core_v2.Config(name=f"bench {how}", checkpoint_storage=sys.argv[3]),
    client=client,
    tensorboard_mode=MODES.get(how, core_v2.TensorboardMode.MANUAL),
).__enter__()
assert context.info is not None
trial = context.info.trial
token = client._session.token()
steps = itertools.count(1)
connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)


def post(trial_id: int, run: int, step: int, metrics: dict[str, float]) -> None:
    report = {"trialId": trial_id, "trialRunId": run, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"group": "training", "metrics": report})
    connection.request("POST", f"/api/v1/trials/{trial_id}/metrics", body, headers)
    reply = connection.getresponse()
    text = reply.read()
    if reply.status != 200:
        raise RuntimeError(text.decode(errors="replace"))


def report(step: int, metrics: dict[str, float]) -> None:
    if how == "rest":
        post(trial.trial_id, trial.trial_run_id, step, metrics)
    else:
        context.train.report_training_metrics(step, metrics)


def write(seconds: float, metrics: int) -> dict[str, Any]:
    connection.close()  # the master may have closed it during the turns of others
    done = for_seconds(seconds, lambda s: report(s, {"loss": 1.0 / s} if metrics == 1 else values(s)), steps)
    return {"points": done["calls"] * metrics, "seconds": time.monotonic() - done["begin"]}


def whole(curve: int) -> dict[str, Any]:
    begin = time.monotonic()
    reports = [(r.steps_completed, r.metrics["loss"]) for r in client.get_trial(curve).iter_metrics("training")]
    return {"points": len(reports), "seconds": time.monotonic() - begin}


answer({"write": write, "whole": whole})
