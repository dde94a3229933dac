"""DeepSpeed trials: every example, and whatever happens to it, its bits."""

import re
import shutil

import pytest
from cluster import HERE, wait_until
from libraries import EXAMPLES, SLOW, contents, create, directory_of, newest_checkpoint, reports
from one_slot import kill_one_of

EXAMPLE = EXAMPLES / "fashion_deepspeed"
OPTIONS = ["--slots", "2"]
BATCHES = 60
SETTINGS = [
    "reproducibility.experiment_seed=7",
    "data.images=2000",
    "records_per_epoch=2000",
    f"searcher.max_length.batches={BATCHES}",
    "min_validation_period.batches=25",
    "min_checkpoint_period.batches=5",
    "scheduling_unit=5",
    "max_restarts=5",
]


@pytest.fixture
def place(tmp_path):
    directory = shutil.copytree(EXAMPLE, tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "models" / "libraries" / "fashion_deepspeed.py", directory / "slow.py")
    for config in ("const.yaml", "pipeline.yaml"):
        text = (directory / config).read_text()
        (directory / config).write_text(text.replace("    epochs: 3\n", f"    batches: {BATCHES}\n"))
    return directory


def left_behind(cluster, id):
    cluster.wait_for_state(id, "COMPLETED", seconds=SLOW)
    trial = cluster.trial_of(id)["id"]
    newest = newest_checkpoint(cluster, trial)
    assert newest["metadata"]["steps_completed"] == BATCHES
    return {**reports(cluster, trial), "files": contents(directory_of(cluster, newest), "*.pt")}


def trained(cluster, id):
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    return trials[0]["totalBatchesProcessed"] if trials else 0


def test_every_command_of_the_readme_is_run_here():
    text = (EXAMPLE / "README.md").read_text()
    assert re.findall(r"^    det experiment create (\S+) \.", text, re.M) == ["const.yaml", "pipeline.yaml"]


def test_the_originals_entry_point_trains_with_the_same_numbers(cluster, place):
    entry = "entrypoint=python3 -m determined.launch.deepspeed --trial model_def:FashionTrial"
    ids = [create(cluster, place, *SETTINGS, *more) for more in ([], [entry])]
    expected, found = (left_behind(cluster, id) for id in ids)
    assert found["validation"] == expected["validation"]
    assert found["files"] == expected["files"]


@pytest.mark.parametrize(("config", "slow"), [("const.yaml", "slow:Slow"), ("pipeline.yaml", "slow:SlowPipeline")])
def test_a_trial_that_is_paused_and_killed_ends_with_the_same_bits(cluster, place, config, slow):
    plain = create(cluster, place, *SETTINGS, config=config)
    expected = left_behind(cluster, plain)
    losses = [row["loss"] for _, row in expected["training"]]
    assert losses[-1] < 0.8 * losses[0]
    id = create(cluster, place, *SETTINGS, f"entrypoint={slow}", config=config)
    for act, batches in (("pause", 10), ("kill", 20), ("kill", 40)):
        wait_until(lambda least=batches: trained(cluster, id) >= least, f"batch {batches}", SLOW)
        if act == "kill":
            assert kill_one_of(cluster, "taskPid") == 1
        else:
            cluster.run("experiment", "pause", id)
            cluster.wait_for_state(id, "PAUSED")
            cluster.run("experiment", "activate", id)
    assert left_behind(cluster, id) == expected
    assert cluster.trial_of(id)["restarts"] == 2
