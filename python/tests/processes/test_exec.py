"""The programs that run inside a trial's process, with the C++ runtime and a master on the other side."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from small_master import SmallMaster
from warm_worker import Ended, WarmWorker

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)

PYTHON = pathlib.Path(__file__).parents[2]
MODEL = """
import sys
import determined as det
from trials import EverythingTrial

class MyTrial(EverythingTrial):
    def __init__(self, context):
        if context.get_hparam("kind") == "impossible":
            raise det.InvalidHP("no such kind")
        super().__init__(context)

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 5:
            kind = self.context.get_hparam("kind")
            print("kind is", kind)
            if kind == "wrong":
                raise ArithmeticError("so it goes")
            if kind == "impossible later":
                raise det.InvalidHP("after all")
            if kind == "leaves":
                sys.exit(0)
            if kind == "stops":
                self.context.set_stop_requested(True)
        return super().train_batch(batch, epoch_idx, batch_idx)
"""


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "model_def.py").write_text(MODEL)
    return tmp_path


@pytest.fixture
def master() -> Iterator[SmallMaster]:
    served = SmallMaster([9, 16])
    yield served
    served.close()


def environment(master: SmallMaster, place: pathlib.Path, **changes: Any) -> dict[str, str]:
    config = {
        "entrypoint": "model_def:MyTrial",
        "searcher": {"metric": "val_loss"},
        "scheduling_unit": 4,
        "checkpoint_storage": {"type": "shared_fs", "host_path": str(place / "storage")},
        **changes.pop("config", {}),
    }
    (place / "storage").mkdir(exist_ok=True)
    values = {
        "DET_MASTER": master.url,
        "DET_CLUSTER_ID": "c",
        "DET_AGENT_ID": "a",
        "DET_SLOT_IDS": "[0]",
        "DET_TASK_ID": "1.x",
        "DET_ALLOCATION_ID": "1.x.1",
        "DET_SESSION_TOKEN": "t",
        "DET_USER": "determined",
        "DET_TASK_TYPE": "TRIAL",
        "DET_TRIAL_ID": "1",
        "DET_EXPERIMENT_ID": "1",
        "DET_TRIAL_RUN_ID": "1",
        "DET_TRIAL_SEED": "3",
        "DET_STEPS_COMPLETED": "0",
        "DET_HPARAMS": json.dumps({"global_batch_size": 4, "kind": "plain", **changes.pop("hparams", {})}),
        "DET_EXPERIMENT_CONFIG": json.dumps(config),
        "DET_RANK": "0",
        "DET_LOCAL_RANK": "0",
        "DET_SIZE": "1",
        "DET_WORKDIR": str(place / "definition"),
        "PYTHONPATH": f"{PYTHON}{os.pathsep}{PYTHON / 'tests'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "PATH": os.environ["PATH"],
        **changes,
    }
    return {name: str(value) for name, value in values.items()}


@pytest.fixture
def run(worker: WarmWorker, place: pathlib.Path) -> Callable[[dict[str, str]], Ended]:
    return lambda values: worker.run(values, place / f"task-{len(list(place.iterdir()))}")


def run_cold(values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "determined.exec.trial"],
        env=values,
        cwd=values["DET_WORKDIR"],
        capture_output=True,
        text=True,
        timeout=120,
    )


PROFILED = """
import time
from determined.core._profiler import ProfilerContext

ProfilerContext.on.__defaults__ = (0.1, 1)  # nobody waits ten seconds for the first report

class Slow(MyTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 0:
            time.sleep(0.6)
        return super().train_batch(batch, epoch_idx, batch_idx)
"""


@pytest.mark.parametrize("enabled", [True, False])
def test_the_machine_of_a_trial_class_is_measured_where_the_configuration_says_so(
    enabled: bool, run: Any, master: SmallMaster, place: pathlib.Path
) -> None:
    (place / "definition" / "model_def.py").write_text(MODEL + PROFILED)
    config = {"profiling": {"enabled": enabled}, "entrypoint": "model_def:Slow"}
    done = run(environment(master, place, config=config))
    assert done.returncode == 0, done.stderr
    assert bool(master.metrics("memory")) == enabled
    assert bool(list((place / "storage" / "c" / "tensorboard").rglob("*.profiler"))) == enabled
    assert list(master.completed) == [9, 16]


def test_a_trial_trains_reports_and_saves(run: Any, master: SmallMaster, place: pathlib.Path) -> None:
    done = run(environment(master, place))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "kind is plain\n"
    assert [batches for group, batches in master.numbers() if group == "training"] == [4, 8, 9, 13, 16]
    assert set(master.completed) == {9, 16}
    saved = master.checkpoints()[-1]
    assert saved["metadata"]["steps_completed"] == 16
    said = [(path.rpartition("/")[2], body["uuid"]) for path, body in master.told if "/checkpoints" in path]
    assert said[-2:] == [("begin", saved["uuid"]), ("checkpoints", saved["uuid"])]
    assert len(said) == 2 * len(master.checkpoints())
    assert {"state-dict.pth", "trial-state.pth", "code/model_def.py", "metadata.json"} <= set(saved["resources"])
    assert (place / "storage" / saved["uuid"] / "state-dict.pth").is_file()


def test_a_paused_trial_goes_on_with_the_same_numbers(run: Any, place: pathlib.Path) -> None:
    whole, parts = SmallMaster([9, 16]), SmallMaster([9, 16])
    assert run(environment(whole, place)).returncode == 0
    parts.preempt_after = 8
    first = run(environment(parts, place))
    assert first.returncode == 0, first.stderr
    assert parts.calls("/ack_preemption")
    parts.preempt_after = None
    uuid = parts.checkpoints()[-1]["uuid"]
    second = run(environment(parts, place, DET_LATEST_CHECKPOINT=uuid, DET_TRIAL_RUN_ID=2))
    assert second.returncode == 0, second.stderr
    assert parts.numbers() == whole.numbers()
    assert parts.completed == whole.completed
    whole.close()
    parts.close()


def test_a_trial_whose_allocation_is_over_ends_with_status_80(
    run: Any, master: SmallMaster, place: pathlib.Path
) -> None:
    master.gone_after = 4
    assert run(environment(master, place)).returncode == 80


@pytest.mark.parametrize(
    ("kind", "status", "reason", "text"),
    [
        ("impossible", 0, "EXITED_REASON_INIT_INVALID_HP", "no such kind"),
        ("impossible later", 0, "EXITED_REASON_INVALID_HP", "after all"),
        ("stops", 0, "EXITED_REASON_USER_REQUESTED_STOP", "requested its own stop"),
        ("wrong", 1, None, "ArithmeticError: so it goes"),
        ("leaves", 1, None, "sys.exit(0); remove it"),
    ],
)
def test_the_end_of_a_trial_says_why(
    kind: str, status: int, reason: str | None, text: str, run: Any, master: SmallMaster, place: pathlib.Path
) -> None:
    done = run(environment(master, place, hparams={"kind": kind}))
    assert done.returncode == status, done.stderr
    assert text in done.stderr
    assert "determined/_run/_loop.py" not in done.stderr
    assert [body["reason"] for body in master.calls("/early_exit")] == ([reason] if reason else [])


def test_errors_before_the_first_batch_are_one_sentence(run: Any, master: SmallMaster, place: pathlib.Path) -> None:
    done = run(environment(master, place, config={"entrypoint": "model_def:YourTrial"}))
    assert done.returncode == 1
    assert "CHECK FAILED! Got entrypoint 'model_def:YourTrial', but model_def has no YourTrial" in done.stderr
    assert "Traceback" not in done.stderr


def test_local_mode_tests_a_definition_and_leaves_nothing_behind(place: pathlib.Path) -> None:
    (place / "const.yaml").write_text(
        "entrypoint: model_def:MyTrial\nsearcher: {metric: val_loss}\n"
        "hyperparameters: {global_batch_size: 4, kind: plain, rate: {type: log, minval: -4, maxval: -1}, tiny: 1e-4}\n"
    )
    values = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{PYTHON}{os.pathsep}{PYTHON / 'tests'}"}
    command = [sys.executable, "-m", "determined.exec.local", str(place / "const.yaml"), str(place / "definition")]
    done = subprocess.run([*command, "--test"], env=values, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "the test of MyTrial passed" in done.stderr
    assert [path.name for path in (place / "definition").iterdir()] == ["model_def.py"]
    refused = subprocess.run(command, env=values, capture_output=True, text=True, timeout=120)
    assert (refused.returncode, "--local needs --test" in refused.stderr) == (2, True)
