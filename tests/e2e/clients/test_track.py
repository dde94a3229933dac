"""determined.track: programs anywhere that log to a directory first, and to a master when there is one."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from cluster import PATIENCE, REPOSITORY, wait_until

OPTIONS = ["--slots", "1"]

FIVE_LINES = """
import determined.track as track
run = track.init(project="digits", workspace="lab", name="five", config={"lr": 0.1}, tags=["toy"], metric="error")
for step in range(1, 11):
    track.log({"loss": 1 / step}, step=step)
track.log({"error": 0.5}, step=10, group="validation")
print(run.url)
track.finish()
"""

MEDIA = """
import numpy as np
import determined.track as track
with track.init(project="digits", name="media") as run:
    track.log({"picture": track.Image(np.zeros((4, 6, 3))), "weights": track.Histogram([1.0, 2.0])}, step=1)
    track.log({"loss": 1.0}, step=1)
    track.log({"words": track.Table(["word", "n"], [["a", 3]]), "note": track.Text("it *works*")}, step=1)
    track.log({"beep": track.Audio(np.sin(np.arange(800) / 5), 8000)}, step=1)
    open("model.txt", "w").write("weights")
    track.log_artifact("model.txt", step=1, metadata={"kind": "model"})
    track.set_metadata({"accuracy": 0.9})
"""


@pytest.fixture
def program(cluster, tmp_path):
    """Starts a program, and gives what it printed."""
    home = tmp_path / "home"
    environment = dict(cluster.environment) | {
        "PYTHONPATH": str(REPOSITORY / "python"),
        "DET_MASTER": cluster.url,
        "DET_USER": "determined",
        "DET_PASS": "",
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "share"),
    }

    def start(*words, **more):
        return subprocess.Popen(
            [sys.executable, *map(str, words)],
            env=environment | more,
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    def run(*words, code=0, **more):
        process = start(*words, **more)
        text, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, f"ended with {process.returncode}:\n{text}"
        return text

    run.start = start
    run.runs = home / "share" / "determined" / "track"
    return run


def named(cluster, name):
    found = cluster.get("experiments?sort_by=SORT_BY_ID&order_by=ORDER_BY_DESC&limit=50")["experiments"]
    return [experiment for experiment in found if experiment["name"] == name]


def trial_of(cluster, experiment):
    (trial,) = cluster.get(f"experiments/{experiment['id']}/trials")["trials"]
    return trial


def curve(cluster, trial, group="training"):
    lines = cluster.get(f"trials/metrics/trial_metrics?trialIds={trial['id']}&group={group}")
    lines = lines if isinstance(lines, list) else [lines]
    return {
        report["totalBatches"]: report["metrics"]["avg_metrics"]
        for line in lines
        for report in line["result"]["metrics"]
    }


def test_five_lines_make_a_run_that_the_master_shows(cluster, program):
    text = program("-c", FIVE_LINES)
    (experiment,) = named(cluster, "five")
    assert f"{cluster.url}/det/experiments/{experiment['id']}" in text
    assert (experiment["state"], experiment["unmanaged"], experiment["labels"]) == ("STATE_COMPLETED", True, ["toy"])
    assert (experiment["workspaceName"], experiment["projectName"]) == ("lab", "digits")
    trial = trial_of(cluster, experiment)
    assert (trial["hparams"], trial["searcherMetricValue"]) == ({"lr": 0.1}, 0.5)
    assert curve(cluster, trial) == {step: {"loss": pytest.approx(1 / step)} for step in range(1, 11)}


def test_an_offline_run_is_sent_later_and_only_once(cluster, program, tmp_path):
    offline = FIVE_LINES.replace("print(run.url)", "").replace('"five"', '"later"')
    program("-c", offline, DET_TRACK_MODE="offline", DET_MASTER="http://127.0.0.1:9")
    assert not named(cluster, "later")
    assert "127.0.0.1:9" in program("-m", "determined.track", "sync", DET_MASTER="http://127.0.0.1:9", code=1)
    for _ in range(2):
        program("-m", "determined.track", "sync")
    (experiment,) = named(cluster, "later")
    assert experiment["state"] == "STATE_COMPLETED"
    assert len(curve(cluster, trial_of(cluster, experiment))) == 10
    (directory,) = program.runs.iterdir()
    (directory / "sent").unlink()  # as if the machine had stopped before it was written
    program("-m", "determined.track", "sync", directory)
    assert len(named(cluster, "later")) == 1
    assert len(curve(cluster, trial_of(cluster, experiment))) == 10
    assert not (directory / "refused.jsonl").exists()


def test_images_and_files_are_kept_with_the_checkpoints(cluster, program, tmp_path):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    program("-c", MEDIA)
    (experiment,) = named(cluster, "media")
    trial = trial_of(cluster, experiment)
    (directory,) = program.runs.parent.glob(f"checkpoints/*/tensorboard/experiment/*/trial/{trial['id']}")
    board = event_accumulator.EventAccumulator(str(directory), {"tensors": 0, "images": 0, "audio": 0}).Reload()
    tags = board.Tags()
    assert (tags["images"], tags["audio"], tags["histograms"], tags["scalars"]) == (
        ["picture"],
        ["beep"],
        ["weights"],
        ["loss"],
    )
    assert set(tags["tensors"]) == {"words", "note"}
    assert (board.Images("picture")[0].width, board.Images("picture")[0].height) == (6, 4)
    assert json.loads((directory / "tables" / "words-1.json").read_text())["rows"] == [["a", 3]]
    shown = cluster.get(f"trials/{trial['id']}/media")["tags"]
    assert {(one["kind"], one["tag"]) for one in shown} == {
        ("image", "picture"),
        ("audio", "beep"),
        ("histogram", "weights"),
        ("text", "words"),
        ("text", "note"),
    }
    (checkpoint,) = cluster.get(f"trials/{trial['id']}/checkpoints")["checkpoints"]
    assert checkpoint["metadata"] == {"steps_completed": 1, "artifact": "model.txt", "kind": "model"}
    assert "model.txt" in checkpoint["resources"]
    assert cluster.get(f"runs/{trial['id']}/metadata")["metadata"] == {"accuracy": 0.9}


def test_a_failed_or_killed_program_is_shown_as_failed(cluster, program):
    failing = FIVE_LINES.replace("print(run.url)", "raise KeyError('lost')").replace('"five"', '"failed"')
    program("-c", failing, code=1)
    (experiment,) = named(cluster, "failed")
    assert experiment["state"] == "STATE_ERROR"

    killed = FIVE_LINES.replace("print(run.url)", "import time; print('ready', flush=True); time.sleep(600)")
    process = program.start("-c", killed.replace('"five"', '"killed"'))
    while "ready" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    program("-m", "determined.track", "sync")
    (experiment,) = named(cluster, "killed")
    assert experiment["state"] == "STATE_ERROR"
    assert len(curve(cluster, trial_of(cluster, experiment))) == 10


def test_a_master_that_restarts_loses_nothing(cluster, program):
    slow = FIVE_LINES.replace("track.log({", "import time; time.sleep(0.5); track.log({", 1)
    slow = slow.replace('"five"', '"restarted"').replace("range(1, 11)", "range(1, 21)").replace("step=10,", "step=20,")
    process = program.start("-c", slow)
    wait_until(lambda: named(cluster, "restarted"), "the run is there")
    cluster.master.kill()
    time.sleep(2)
    cluster.start_master()
    text, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, text
    (experiment,) = named(cluster, "restarted")
    assert experiment["state"] == "STATE_COMPLETED"
    assert len(curve(cluster, trial_of(cluster, experiment))) == 20


def test_a_run_is_resumed_by_its_id(cluster, program):
    part = """
import determined.track as track
track.init(name="resumed", resume="my-run")
for _ in range(3):
    track.log({"loss": 1.0})
"""
    program("-c", part)
    program("-c", part)
    (experiment,) = named(cluster, "resumed")
    assert experiment["state"] == "STATE_COMPLETED"  # without a call of finish()
    assert list(curve(cluster, trial_of(cluster, experiment))) == [1, 2, 3, 4, 5, 6]


def test_forked_processes_log_to_the_same_run(cluster, program):
    forks = """
import os
import determined.track as track
track.init(name="forked")
for number in range(4):
    if os.fork() == 0:
        for step in range(25):
            track.log({"loss": float(number)}, step=1 + number * 25 + step)
        os._exit(0)
for _ in range(4):
    os.wait()
track.finish()
"""
    program("-c", forks)
    (experiment,) = named(cluster, "forked")
    assert list(curve(cluster, trial_of(cluster, experiment))) == list(range(1, 101))


def test_who_is_not_logged_in_is_told_so(cluster, program):
    text = program("-c", FIVE_LINES, DET_USER="nobody", DET_PASS="wrong", code=1)
    assert "Exception" in text and "nothing more is sent" in text
    assert os.listdir(program.runs)


TENSORBOARD = """
from torch.utils.tensorboard import SummaryWriter
for run in ("a", "b"):
    with SummaryWriter(f"logs/{run}") as writer:
        for step in range(5):
            writer.add_scalar("loss", 1 / (step + 1), step)
"""

MLRUNS = """
import os
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow
mlflow.set_tracking_uri("file:mlruns")
mlflow.set_experiment("vision")
with mlflow.start_run(run_name="a"):
    mlflow.log_param("lr", 0.1)
    for step in range(5):
        mlflow.log_metric("train/loss", 1 / (step + 1), step=step)
    mlflow.log_text("hello", "notes/hello.txt")
"""

WANDB = """
import wandb
with wandb.init(project="vision", name="a", mode="offline", config={"lr": 0.1}, dir=".") as run:
    for step in range(5):
        run.log({"loss": 1 / (step + 1)})
"""


@pytest.mark.parametrize(
    ("kind", "module", "text", "path", "names"),
    [
        ("tensorboard", "tensorboard", TENSORBOARD, "logs", ["a", "b"]),
        ("mlflow", "mlflow", MLRUNS, "mlruns", ["a"]),
        ("wandb", "wandb", WANDB, "wandb", ["a"]),
    ],
)
def test_what_another_program_recorded_is_imported_once(cluster, program, kind, module, text, path, names):
    pytest.importorskip(module)
    program("-c", text)
    for _ in range(2):
        program("-m", "determined.track", "import", kind, path, "--workspace", f"from {kind}", "--project", "all")
    found = [e for e in cluster.get("experiments?limit=200")["experiments"] if e["workspaceName"] == f"from {kind}"]
    assert sorted(e["name"] for e in found) == names
    for experiment in found:
        assert experiment["state"] == "STATE_COMPLETED" and kind in experiment["labels"]
        trial = trial_of(cluster, experiment)
        values = {name for point in curve(cluster, trial).values() for name in point}
        assert [value for point in curve(cluster, trial).values() for value in point.values()] == [
            pytest.approx(1 / (step + 1)) for step in range(5)
        ]
        assert values == {"train/loss" if kind == "mlflow" else "loss"}
        if kind != "tensorboard":
            assert float(trial["hparams"]["lr"]) == 0.1
    assert not list(program.runs.glob("import-*/refused.jsonl"))
