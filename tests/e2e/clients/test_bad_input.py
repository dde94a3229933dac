"""What bad input gets: a sentence that names the thing and the rule, the right exit code, and nothing lost."""

import math
import os
import pathlib
import subprocess
import time

import pytest
from cluster import BINARY, wait_until

BROKEN = pathlib.Path(__file__).parents[1] / "models" / "broken"


OPTIONS = ["--slots", "2"]


def create(cluster, name, *settings):
    options = [word for setting in (f"entrypoint=model_def:{name}", *settings) for word in ("--config", setting)]
    return cluster.create(BROKEN, *options)


def test_an_unreachable_master_is_named_with_a_hint(cluster):
    text = cluster.run("-m", "127.0.0.1:1", "experiment", "list", master=False, code=1)
    assert "Master not found at http://127.0.0.1:1." in text
    assert "DET_MASTER" in text and "'-m'" in text and "det up" in text


@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_a_failure(cluster, where):
    environment = os.environ | {"DET_MASTER": cluster.url}
    done = subprocess.run(
        ["sh", "-c", f'"$0" version {where}', BINARY], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1, done
    assert "standard output is full or closed" in done.stderr


def test_all_problems_of_a_configuration_come_at_once_with_their_lines(cluster, tmp_path):
    (tmp_path / "bad.yaml").write_text(
        "description: bad\n"
        "hyperparameters:\n  global_batch_size: -8\n"
        "searcher:\n  name: sinlge\n  metric: validation_loss\n  max_length:\n    batches: 0\n"
        "max_restarts: many\n"
        "entrypont: model_def:X\n"
    )
    text = cluster.run("experiment", "create", tmp_path / "bad.yaml", ".", directory=BROKEN, code=1)
    for line, word in ((3, "-8"), (5, "sinlge"), (8, "batches"), (9, "many"), (10, "entrypont")):
        assert any(f"(line {line})" in shown and word in shown for shown in text.splitlines()), text
    assert "Created" not in text


def test_broken_yaml_is_refused_with_its_line(cluster, tmp_path):
    (tmp_path / "bad.yaml").write_text("description: bad\nsearcher: [single\nentrypoint: x\n")
    text = cluster.run("experiment", "create", tmp_path / "bad.yaml", ".", directory=BROKEN, code=1)
    assert "line 3" in text or "line 4" in text, text


def test_what_a_configuration_wants_in_vain_is_said_when_it_is_submitted(cluster):
    mount = "bind_mounts=[{host_path: /data, container_path: /inside}]"
    text = cluster.run("experiment", "create", "const.yaml", ".", "--paused", "--config", mount, directory=BROKEN)
    assert "Created experiment" in text
    assert "Warning: bind_mounts: /data is not mounted at /inside" in text and "read it at /data" in text


@pytest.mark.parametrize(
    "words",
    [
        "experiment describe 999", "experiment pause 999", "experiment wait 999", "experiment list-checkpoints 999",
        "experiment download 999", "experiment kill 999", "trial describe 999", "trial logs 999", "trial kill 999",
    ],
)  # fmt: skip
def test_an_unknown_id_is_named(cluster, words):
    assert f"{words.split()[0]} '999' not found" in cluster.run(*words.split(), code=1)


def test_an_unknown_checkpoint_is_named(cluster):
    uuid = "11111111-1111-4111-8111-111111111111"
    for word in ("describe", "download"):
        assert f"checkpoint '{uuid}' not found" in cluster.run("checkpoint", word, uuid, code=1)


def test_wrong_usage_ends_with_status_2(cluster):
    assert "'frobnicate' is not a command" in cluster.run("experiment", "frobnicate", code=2)


def test_a_finished_experiment_cannot_be_paused(cluster):
    id = create(cluster, "Fine")
    cluster.run("experiment", "wait", id)
    text = cluster.run("experiment", "pause", id, code=1)
    assert f"experiment {id} is COMPLETED" in text and "cannot be paused" in text


def test_a_missing_trial_class_is_named_with_those_that_are_there(cluster):
    id = create(cluster, "Missing", "max_restarts=0")
    assert "ERROR" in cluster.run("experiment", "wait", id, code=1)
    text = cluster.run("trial", "logs", cluster.trial_of(id)["id"])
    assert "model_def has no Missing" in text and "Raises" in text and "Traceback" not in text


def test_a_trial_that_raises_is_restarted_and_then_fails_with_its_traceback(cluster):
    id = create(cluster, "Raises")
    cluster.wait_for_state(id, "ERROR")
    trial = cluster.trial_of(id)
    text = cluster.run("trial", "logs", trial["id"])
    assert text.count("ValueError: the third batch is bad") == 2
    assert "model_def.py" in text and "train_batch" in text
    assert cluster.get(f"trials/{trial['id']}")["trial"]["restarts"] == 1  # the last failure is followed by none
    assert cluster.get(f"trials/{trial['id']}")["trial"]["state"] == "STATE_ERROR"


def test_nan_and_infinity_as_metrics_are_stored_and_shown(cluster):
    id = create(cluster, "NotANumber")
    cluster.wait_for_state(id, "COMPLETED")
    trial = cluster.trial_of(id)["id"]
    ((batches, metrics),) = cluster.metrics(trial, "validation")
    assert batches == 20
    assert math.isnan(float(metrics["validation_metrics"]["slope"]))
    assert float(metrics["validation_metrics"]["bound"]) == -math.inf
    assert all(math.isnan(float(m["avg_metrics"]["loss"])) for _, m in cluster.metrics(trial, "training"))
    text = cluster.run("experiment", "describe", id, "--metrics")
    assert "nan" in text.lower() and "-inf" in text.lower()


def test_nan_as_the_searchers_metric_is_stored_and_fails_the_trial_with_its_name(cluster):
    id = create(cluster, "NotComparable", "max_restarts=0")
    cluster.wait_for_state(id, "ERROR")
    assert "validation metric 'validation_loss' is nan after batch 20" in cluster.log_text(id)
    ((_, metrics),) = cluster.metrics(cluster.trial_of(id)["id"], "validation")
    assert math.isnan(float(metrics["validation_metrics"]["validation_loss"]))


def test_a_trial_that_ignores_termination_is_killed_with_its_children(cluster):
    id = create(cluster, "Stubborn")
    wait_until(lambda: "stubborn now" in cluster.log_text(id), "a stubborn trial")
    assert stubborn_children()
    began = time.monotonic()
    cluster.run("experiment", "kill", id)
    wait_until(lambda: not stubborn_children() and not cluster.shims(), "the end of its processes", seconds=30)
    print(f"ended after {time.monotonic() - began:.1f} s")
    cluster.wait_for_state(id, "CANCELED")


def stubborn_children():
    return [file for file in pathlib.Path("/proc").glob("[0-9]*/cmdline") if command(file) == b"sleep\x004242\x00"]


def command(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_det_up_twice_on_one_directory_is_refused(cluster):
    text = cluster.run("up", "--dir", cluster.directory, "--port", "0", master=False, code=1)
    assert str(cluster.directory) in text and f"in use by process {cluster.master.process.pid}" in text


def test_a_port_in_use_is_named(cluster, tmp_path):
    text = cluster.run("up", "--dir", tmp_path, "--port", str(cluster.port), master=False, code=1)
    assert f"port {cluster.port}" in text and "in use" in text and "--port" in text


def test_other_machines_are_not_served_while_passwords_are_empty(cluster, tmp_path):
    text = cluster.run("up", "--dir", tmp_path, "--host", "0.0.0.0", "--port", "0", master=False, code=1)
    assert "0.0.0.0" in text and "no password" in text and "determined" in text


def test_a_second_agent_in_one_directory_is_refused(start):
    apart = start(apart=True)
    text = apart.run(
        "agent", "--master", apart.url, "--token-file", apart.directory / "agent.token", "--dir", apart.agent_directory,
        master=False, code=1,
    )  # fmt: skip
    assert str(apart.agent_directory) in text
