"""The launch layer: a process for each slot, on every machine."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from small_master import SmallMaster
from test_exec import environment

from determined.launch import _ranked, horovod, tensorflow, torch_distributed

pytest.importorskip("determined._runtime", reason="needs the C++ module", exc_type=ImportError)

SCRIPT = """
import os, sys
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "on machine", os.environ["GROUP_RANK"], *sys.argv[1:])
"""


@pytest.fixture
def master() -> Iterator[SmallMaster]:
    served = SmallMaster([12])
    yield served
    served.close()


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "definition").mkdir()
    (tmp_path / "definition" / "train.py").write_text(SCRIPT)
    (tmp_path / "definition" / "model_def.py").write_text("from trials import ContextTrial\n")
    return tmp_path


def start(values: dict[str, str], *words: str, layer: str = "torch_distributed") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"determined.launch.{layer}", *words],
        env=values,
        cwd=values["DET_WORKDIR"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (["train.py", "-x"], [sys.executable, "-u", "train.py", "-x"]),
        (["--", "train.py", "--", "-x"], [sys.executable, "-u", "train.py", "--", "-x"]),
        (["--", "python3", "train.py"], [sys.executable, "-u", "train.py"]),
        (["--max-restarts", "1", "--", "python", "-m", "train"], [sys.executable, "-u", "-m", "train"]),
        (["./run.sh", "a"], ["./run.sh", "a"]),
        (["--no-python", "./run.sh", "a"], ["./run.sh", "a"]),
        (
            ["--trial", "model_def:MyTrial"],
            [sys.executable, "-u", "-m", "determined.launch.trial", "model_def:MyTrial"],
        ),
        ([], None),
        (["--trial"], None),
        (["-v", "train.py"], None),
    ],
)
def test_the_words_after_the_launcher_are_a_script_or_a_trial(words: list[str], rest: list[str] | None) -> None:
    if rest is None:
        with pytest.raises(ValueError, match="no script to start; usage: python3 -m"):
            torch_distributed.command(words, ["place"])
    else:
        command = torch_distributed.command(words, ["place"])
        options = words[: words.index("--")] if "--" in words[:3] else []
        start = [sys.executable, "-m", "torch.distributed.run", "place", *options, "--no-python"]
        assert command[: len(start)] == start
        assert command[len(start) :] == [sys.executable, "-I", "-S", _ranked.__file__, *rest]


@pytest.mark.parametrize(
    ("words", "script", "unused"),
    [
        (["--autohorovod", "python3", "train.py", "-x"], ["python3", "train.py", "-x"], []),
        (["--autohorovod", "-v", "--", "train.py", "-x"], ["train.py", "-x"], ["-v"]),
        (["train.py", "--autohorovod"], ["train.py", "--autohorovod"], []),
    ],
)
def test_a_script_of_horovods_launch_layer_is_told_from_its_options(
    words: list[str], script: list[str], unused: list[str]
) -> None:
    assert horovod.script_of(words) == (script, unused)


def test_a_script_started_by_horovods_launch_layer_knows_its_rank(master: SmallMaster, place: pathlib.Path) -> None:
    (place / "definition" / "train.py").write_text(
        "from determined.horovod import hvd\nprint('rank', hvd.rank(), hvd.local_rank(), 'of', hvd.size(), flush=True)"
    )
    values = environment(master, place, DET_SIZE=2, DET_LOCAL_SIZE=2)
    process = start(values, "--autohorovod", "-v", "--", "python3", "train.py", layer="horovod")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert sorted(line for line in out.splitlines() if "rank " in line) == [
        "[rank=0] rank 0 0 of 2",
        "[rank=1] rank 1 1 of 2",
    ]
    assert "ignored, because torchrun takes the place of horovodrun: -v" in errors


def test_a_script_of_deepspeeds_launch_layer_is_started_by_torchrun(master: SmallMaster, place: pathlib.Path) -> None:
    values = environment(master, place, DET_SIZE=2, DET_LOCAL_SIZE=2)
    process = start(values, "--hostfile", "h", "--", "python3", "train.py", "-x", layer="deepspeed")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    said = sorted(line for line in out.splitlines() if "rank " in line)
    assert said == ["[rank=0] rank 0 of 2 on machine 0 -x", "[rank=1] rank 1 of 2 on machine 0 -x"]
    assert "ignored, because torchrun takes the place of DeepSpeed's launcher: --hostfile h" in errors


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["python3", "train.py", "-x"], [sys.executable, "train.py", "-x"]),
        (["--", "train.py"], [sys.executable, "train.py"]),
        (["./run.sh", "a"], ["./run.sh", "a"]),
        ([], "no script to start; usage: python3 -m determined.launch.tensorflow"),
        (["--trial", "m:C"], "a trial class needs no launch layer; use entrypoint: m:C"),
    ],
)
def test_a_script_of_tensorflows_launch_layer_is_run_as_it_is(words: list[str], command: list[str] | str) -> None:
    if isinstance(command, str):
        with pytest.raises(ValueError, match=command):
            tensorflow.command(words)
    else:
        assert tensorflow.command(words) == command


def test_tensorflow_learns_of_several_machines_from_tf_config(master: SmallMaster, place: pathlib.Path) -> None:
    (place / "definition" / "train.py").write_text("import os\nprint(os.environ.get('TF_CONFIG', 'alone'))")
    alone = start(environment(master, place, DET_SIZE=2, DET_LOCAL_SIZE=2), "train.py", layer="tensorflow")
    assert alone.communicate(timeout=120)[0] == "alone\n"
    processes = []
    for machine in range(2):
        own: dict[str, Any] = {"DET_SIZE": 2, "DET_LOCAL_SIZE": 1, "DET_RESOURCES_ID": machine}
        processes.append(start(environment(master, place, **own), "python3", "train.py", layer="tensorflow"))
    told = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert [one["task"] for one in told] == [{"type": "worker", "index": 0}, {"type": "worker", "index": 1}]
    (first, second) = told[0]["cluster"]["worker"]
    assert told[1]["cluster"] == told[0]["cluster"]
    assert int(second.rpartition(":")[2]) == int(first.rpartition(":")[2]) + 1


def test_a_script_runs_once_for_each_slot_on_every_machine(master: SmallMaster, place: pathlib.Path) -> None:
    processes = []
    for machine in range(2):
        own: dict[str, Any] = {"DET_SIZE": 2, "DET_LOCAL_SIZE": 1, "DET_RESOURCES_ID": machine}
        processes.append(start(environment(master, place, **own), "python3", "train.py", "word"))
    ended = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    said = [line for out, _ in ended for line in out.splitlines() if "rank " in line]
    assert said == ["[rank=0] rank 0 of 2 on machine 0 word", "[rank=1] rank 1 of 2 on machine 1 word"]


def test_a_rank_that_fails_ends_the_script_and_is_known_by_its_lines(master: SmallMaster, place: pathlib.Path) -> None:
    (place / "definition" / "train.py").write_text(
        "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit('so it goes')\ntime.sleep(60)"
    )
    process = start(environment(master, place, DET_SIZE=2, DET_LOCAL_SIZE=2), "train.py")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    assert "[rank=1] so it goes" in errors.splitlines()


def test_a_trial_class_is_trained_by_all_slots(master: SmallMaster, place: pathlib.Path) -> None:
    searcher = {"metric": "val_loss", "max_length": {"batches": 12}}
    config = {"min_validation_period": {"batches": 5}, "searcher": searcher}
    values = environment(master, place, config=config, DET_SIZE=2, DET_LOCAL_SIZE=2)
    process = start(values, "--trial", "model_def:ContextTrial")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    reported = {key: metrics["numInputs"] for key, metrics in master.numbers().items()}
    assert reported == {
        ("training", 4): 16,
        ("training", 5): 4,
        ("training", 9): 16,
        ("training", 10): 4,
        ("training", 12): 8,
        ("validation", 5): 12,
        ("validation", 10): 12,
        ("validation", 12): 12,
    }
    assert list(master.completed) == [12]
