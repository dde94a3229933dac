"""Training loops of the user's own: scripts with the Core API, and pytorch.Trainer."""

import json
import re
import shutil
import subprocess

import pytest
from cluster import HERE, PYTHON, REPOSITORY, wait_until
from sdk import run_python

CORE = HERE / "models" / "core"


def weights(cluster, experiment):
    trial = cluster.trial_of(experiment)["id"]
    return [(steps, metrics["avg_metrics"]["weight"]) for steps, metrics in cluster.metrics(trial, "training")]


@pytest.fixture(scope="module")
def undisturbed(cluster):
    id = cluster.create(CORE, "--config", "hyperparameters.seconds=0.0")
    cluster.wait_for_state(id, "COMPLETED")
    return id


def test_a_script_trains_reports_and_saves(cluster, undisturbed):
    rows = weights(cluster, undisturbed)
    assert [steps for steps, _ in rows] == list(range(1, 61))
    trial = cluster.trial_of(undisturbed)
    assert trial["state"] == "STATE_COMPLETED"
    assert trial["searcherMetricValue"] == pytest.approx((rows[-1][1] - 1) ** 2)
    ((steps, metrics),) = cluster.metrics(trial["id"], "validation")
    assert steps == 60 and metrics["validation_metrics"]["loss"] == trial["searcherMetricValue"]
    (inference,) = cluster.get(f"trials/metrics/trial_metrics?trialIds={trial['id']}&group=inference")["result"][
        "metrics"
    ]
    assert inference["metrics"]["avg_metrics"] == {"answer": 42}
    log = cluster.log_text(undisturbed)
    assert "arguments are ['--with', 'two words']" in log
    assert "best so far: None" in log


def test_its_checkpoints_carry_their_metadata(cluster, undisturbed):
    checkpoints = cluster.get(f"experiments/{undisturbed}/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER")["checkpoints"]
    assert {c["metadata"]["kind"] for c in checkpoints} == {"one number"}
    kept = [c for c in checkpoints if c["state"] == "STATE_COMPLETED"]
    assert max(c["metadata"]["steps_completed"] for c in kept) == 60
    assert all("state.json" in c["resources"] for c in kept)


def test_a_paused_script_goes_on_where_it_was(cluster, undisturbed):
    id = cluster.create(CORE)
    trial = cluster.trial_of(id)["id"]
    for least in (13, 35):
        wait_until(lambda least=least: len(cluster.metrics(trial, "training")) >= least, f"{least} steps")
        cluster.run("experiment", "pause", id)
        cluster.wait_for_state(id, "PAUSED")
        cluster.run("experiment", "activate", id)
    cluster.wait_for_state(id, "COMPLETED")
    assert weights(cluster, id) == weights(cluster, undisturbed)
    assert cluster.get(f"trials/{trial}")["trial"]["restarts"] == 0
    steps = [int(n) for n in re.findall(r"step (\d+)\n", cluster.log_text(id).replace("after step", ""))]
    assert steps == list(range(1, 61)), "no step is done twice"


def test_a_script_that_ends_early_is_complete_and_one_that_fails_is_not(cluster, tmp_path):
    (tmp_path / "a.yaml").write_text(
        "name: early\nentrypoint: [python3, -c, 'print(\"enough\")']\nmax_restarts: 0\n"
        "searcher: {name: single, metric: loss, max_length: 5}\n"
    )
    id = cluster.create(tmp_path, config="a.yaml")
    cluster.wait_for_state(id, "COMPLETED")
    assert "enough" in cluster.log_text(id)
    id = cluster.create(tmp_path, "--config", "entrypoint=exit 3", config="a.yaml")
    cluster.wait_for_state(id, "ERROR")
    assert "status 3" in cluster.trial_of(id)["error"]
    id = cluster.create(tmp_path, "--config", "entrypoint=[no-such-program]", config="a.yaml")
    cluster.wait_for_state(id, "ERROR")
    assert "no-such-program cannot be run" in cluster.log_text(id)


def test_a_script_that_finishes_while_it_is_asked_to_pause_is_complete(cluster, tmp_path):
    (tmp_path / "train.py").write_text(
        "import time\nimport determined as det\nwith det.core.init() as context:\n    print('begins', flush=True)\n"
        "    time.sleep(3)\n    context.train.report_validation_metrics(30, {'loss': 0.1})\nprint('finished')\n"
    )
    (tmp_path / "a.yaml").write_text(
        "name: finishes\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: 40}\n"
    )
    id = cluster.create(tmp_path, config="a.yaml")
    wait_until(lambda: "begins" in cluster.log_text(id), "the script runs")
    cluster.run("experiment", "pause", id)
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.log_text(id).count("finished") == 1


def test_a_script_refuses_its_hyperparameters(cluster, tmp_path):
    (tmp_path / "train.py").write_text(
        "import determined as det\nwith det.core.init():\n    raise det.InvalidHP('too small')\n"
    )
    (tmp_path / "a.yaml").write_text(
        "name: refuses\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss, max_length: {epochs: 5}}\n"
    )
    id = cluster.create(tmp_path, config="a.yaml")
    cluster.wait_for_state(id, "COMPLETED", "ERROR")
    assert "refused its hyperparameters: too small" in cluster.log_text(id)
    assert cluster.trial_of(id)["restarts"] == 0


def test_a_search_over_scripts_asks_each_for_its_length(cluster):
    searcher = '{"name":"random","metric":"loss","max_trials":3,"max_concurrent_trials":2,"max_length":{"epochs":7}}'
    id = cluster.create(
        CORE, "--config", f"searcher={searcher}", "--config", "hyperparameters.seconds=0.0",
        "--config", 'hyperparameters.learning_rate={"type":"double","minval":0.01,"maxval":0.1}',
    )  # fmt: skip
    cluster.wait_for_state(id, "COMPLETED")
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    assert [trial["totalBatchesProcessed"] for trial in trials] == [7, 7, 7]
    assert len({trial["hparams"]["learning_rate"] for trial in trials}) == 3


def test_the_same_script_runs_without_a_cluster(tmp_path):
    shutil.copy(CORE / "train.py", tmp_path)
    environment = {"PYTHONPATH": str(REPOSITORY / "python"), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run([PYTHON, "train.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    (state,) = (tmp_path / "data" / "determined" / "checkpoints").glob("*/state.json")
    assert json.loads(state.read_text())["step"] == 1


def test_a_trial_of_a_script_is_warm_started_from_a_trial_or_a_checkpoint(cluster, undisturbed):
    source = cluster.trial_of(undisturbed)["id"]
    best = cluster.get(f"trials/{source}/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&states=STATE_COMPLETED")[
        "checkpoints"
    ]
    weight = weights(cluster, undisturbed)[-1][1]
    for field in (f"searcher.source_trial_id={source}", f"searcher.source_checkpoint_uuid={best[-1]['uuid']}"):
        id = cluster.create(CORE, "--config", field, "--config", "hyperparameters.seconds=0.0")
        cluster.wait_for_state(id, "COMPLETED")
        assert cluster.trial_of(id)["warmStartCheckpointUuid"] == best[-1]["uuid"]
        assert f"goes on with {weight} after step 0" in cluster.log_text(id)
        assert weights(cluster, id)[0] == (1, weight - 0.01 * 2 * (weight - 1))


def test_a_trainer_resumes_and_ends_with_the_numbers_of_an_undisturbed_run(cluster):
    entry = ("--config", "entrypoint=python3 trainer.py", "--config", "searcher.max_length=")
    ids = []
    for seconds, pauses in ((0.0, 0), (0.03, 2)):
        id = cluster.create(CORE, *entry, "--config", f"hyperparameters.seconds={seconds}", "--config",
                            "reproducibility.experiment_seed=9")  # fmt: skip
        trial = cluster.trial_of(id)["id"]
        for turn in range(pauses):
            wait_until(
                lambda trial=trial, turn=turn: len(cluster.metrics(trial, "training")) > 3 * (turn + 1), "reports"
            )
            cluster.run("experiment", "pause", id)
            cluster.wait_for_state(id, "PAUSED")
            cluster.run("experiment", "activate", id)
        cluster.wait_for_state(id, "COMPLETED")
        ids.append(trial)
    plain, paused = (cluster.metrics(trial, "validation") for trial in ids)
    assert [batches for batches, _ in plain] == [20, 40, 48]
    assert paused == plain
    assert cluster.metrics(ids[1], "training") == cluster.metrics(ids[0], "training")


def test_a_checkpoint_of_a_trainer_can_be_loaded(cluster, tmp_path):
    run_python(
        cluster,
        """
from determined.experimental import client
(experiment,) = [e for e in client.list_experiments() if e.config["entrypoint"] == "python3 trainer.py"][-1:]
trial = experiment.top_checkpoint().load()
assert type(trial).__name__ == "LineTrial" and trial.model[0].weight.shape == (4, 1)
""",
        tmp_path,
    )


SHARDED = """
import json
import determined as det
from determined import core
distributed = core.DistributedContext.from_torch_distributed()
with core.init(distributed=distributed) as context:
    for operation in context.searcher.operations():
        total = sum(distributed.allgather(distributed.rank + operation.length))
        if distributed.rank == 0:
            context.train.report_validation_metrics(1, {"loss": total})
            operation.report_completed(total)
        with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
            (path / f"shard-{distributed.rank}").write_text(str(distributed.rank))
        assert not context.preempt.should_preempt()
"""


def test_the_processes_of_a_script_join_and_save_one_checkpoint(start, tmp_path):
    cluster = start(options=["--slots", "2"])
    place = tmp_path / "code"
    place.mkdir()
    (place / "train.py").write_text(SHARDED)
    (place / "a.yaml").write_text(
        "name: two\nentrypoint: python3 -m torch.distributed.run --standalone --nproc-per-node=2 train.py\n"
        "resources: {slots_per_trial: 2}\nmax_restarts: 0\n"
        "searcher: {name: single, metric: loss, max_length: 10}\n"
    )
    id = cluster.create(place, config="a.yaml")
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.trial_of(id)["searcherMetricValue"] == 10 + 11
    (checkpoint,) = cluster.get(f"experiments/{id}/checkpoints")["checkpoints"]
    assert {"shard-0", "shard-1", "metadata.json"} <= set(checkpoint["resources"])


TWO = """
import os, signal
import determined as det
from determined import pytorch
import model_def

info = det.get_cluster_info()

class MortalTrial(model_def.LineTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        dies = info.trial.hparams["dies"] and self.context.distributed.get_rank() == 1
        if dies and info.trial.trial_run_id == 1 and batch_idx == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().train_batch(batch, epoch_idx, batch_idx)

with pytorch.init() as context:
    pytorch.Trainer(MortalTrial(context), context).fit(
        max_length=pytorch.Batch(40),
        validation_period=pytorch.Batch(20),
        checkpoint_period=pytorch.Batch(4),
        reporting_period=pytorch.Batch(4),
        latest_checkpoint=info.latest_checkpoint,
    )
"""


def test_a_trainer_on_two_slots_ends_with_equal_bits_whatever_happens(start, tmp_path):
    cluster = start(options=["--slots", "2"])
    place = tmp_path / "code"
    shutil.copytree(CORE, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "two.py").write_text(TWO)
    words = [
        "entrypoint=python3 -m torch.distributed.run --standalone --nproc-per-node=2 two.py",
        "searcher.max_length=", "resources.slots_per_trial=2", "max_restarts=1", "reproducibility.experiment_seed=9",
    ]  # fmt: skip
    ids = []
    for dies, seconds in (("false", 0.0), ("true", 0.0), ("false", 0.1)):
        more = [f"hyperparameters.dies={dies}", f"hyperparameters.seconds={seconds}"]
        options = [word for setting in [*words, *more] for word in ("--config", setting)]
        id = cluster.create(place, *options)
        trial = cluster.trial_of(id)["id"]
        if seconds:
            wait_until(lambda trial=trial: len(cluster.metrics(trial, "training")) > 3, "reports")
            cluster.run("experiment", "pause", id)
            cluster.wait_for_state(id, "PAUSED")
            cluster.run("experiment", "activate", id)
        cluster.wait_for_state(id, "COMPLETED")
        assert cluster.get(f"trials/{trial}")["trial"]["restarts"] == (1 if dies == "true" else 0)
        ids.append(trial)
    plain = [cluster.metrics(ids[0], group) for group in ("training", "validation")]
    assert [batches for batches, _ in plain[1]] == [20, 40]
    for trial in ids[1:]:
        assert [cluster.metrics(trial, group) for group in ("training", "validation")] == plain
