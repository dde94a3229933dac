"""Trials on machines that a real Slurm gives: they come when somebody waits, go when nobody does, and lose nothing."""

import contextlib
import re
import time

import pytest
from browser import walk
from cluster import wait_until
from one_slot import weights_hash
from slurm_pool import NOISY, RANKS, SlurmCluster

ENDED = ("COMPLETED", "CANCELLED", "TIMEOUT", "FAILED", "NODE_FAIL", "PREEMPTED", "COMPLETING")


@contextlib.contextmanager
def cluster_of(slurm, directory, **provider):
    cluster = SlurmCluster(directory, slurm, **provider).start()
    try:
        yield cluster
    finally:
        print(cluster.master.output()[-4000:], cluster.pilot_logs()[-4000:])
        for job in cluster.our_jobs():
            if job.state not in ENDED:
                slurm.cancel(job.id)
        cluster.master.kill()


@pytest.fixture(scope="module")
def cluster(slurm, tmp_path_factory):
    with cluster_of(slurm, tmp_path_factory.mktemp("slurm")) as one:
        yield one


def result(cluster, id):
    """The reports of its trial, and its last weights."""
    trial = cluster.trial_of(id)["id"]
    checkpoints = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    newest = max(checkpoints, key=lambda c: c["metadata"]["steps_completed"])
    return {
        "training": cluster.metrics(trial, "training"),
        "validation": cluster.metrics(trial, "validation"),
        "batches": newest["metadata"]["steps_completed"],
        "weights": weights_hash(cluster.directory / "checkpoints" / newest["uuid"]),
    }


@pytest.fixture(scope="module")
def undisturbed(cluster):
    """What the trial of models/noisy comes to on one machine that stays."""
    id = cluster.create(NOISY)
    cluster.wait_for_state(id, "COMPLETED")
    return result(cluster, id)


def test_a_machine_comes_for_a_trial_and_goes_when_it_is_idle(cluster, slurm, undisturbed):
    assert undisturbed["batches"] == 300
    assert len(cluster.our_jobs()) == 1
    wait_until(lambda: not cluster.allotments(), "the machine given back")
    assert [job.state for job in cluster.our_jobs()] == ["CANCELLED"]
    assert [agent["id"] for agent in cluster.get("agents")["agents"]] == []


def test_nothing_secret_is_in_the_job(cluster, slurm):
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.05")
    cluster.wait_for_state(id, "RUNNING")
    job = cluster.our_jobs("RUNNING")[0]
    shown = slurm.run("scontrol", "-d", "show", "job", job.id).stdout
    script = slurm.run("scontrol", "write", "batch_script", job.id, "-").stdout
    assert str(job.id) in shown and "--pilot" in script
    words = " ".join(words for _, words in slurm.calls())
    for text in (shown, script, words):
        assert "det_pilot_" not in text and "det_node_" not in text
    cluster.run("experiment", "kill", id)


def test_a_gang_of_two_nodes_with_two_slots_each_trains_as_one_trial(cluster):
    id = cluster.create(RANKS, "--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never")
    cluster.wait_for_state(id, "COMPLETED")
    ended = re.findall(rf"info {id}\.\S+ rank (\d) exited with status 0", cluster.pilot_logs())
    assert sorted(ended) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("loss", ["scancel", "node", "requeue"])
def test_a_trial_whose_machine_is_lost_ends_with_the_same_bits(cluster, slurm, undisturbed, loss):
    id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.02")
    trial = wait_until(lambda: cluster.trial_of(id), "its trial")["id"]
    wait_until(lambda: cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], "a checkpoint")
    job = cluster.job_of(id)
    if loss == "scancel":
        slurm.cancel(job.id)
    elif loss == "requeue":
        slurm.requeue(job.id)
    else:
        node = re.sub(r"\[(\d+)\D.*", r"\1", job.nodes)  # the first of node[1-2]
        slurm.kill_node(node, noticed=True)
        slurm.start_node(node)
        slurm.resume_node(node)
    cluster.wait_for_state(id, "COMPLETED")
    assert result(cluster, id) == undisturbed
    assert cluster.trial_of(id)["restarts"] == 0
    assert "was lost" in cluster.log_text(id) or "leaves" in cluster.log_text(id)


def test_the_engines_words_reach_whoever_waits(cluster, slurm, tmp_path):
    slurm.set_partition("main", "down")
    try:
        wait_until(lambda: not cluster.allotments(), "no machines of other tests")
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, r"waits for 1 node of Slurm partition main \(job \d+ is pending: PartitionDown\)")
        assert "PartitionDown" in cluster.run("resource-pool", "describe", "default")
        wait_until(lambda: len(cluster.get("resource-pools/default/provider")["history"]) > 1, "a chart")
        facts = {"provider": "Slurm partition main", "reason": "PartitionDown", "asks": r"0 running, 1 requested"}
        walk(cluster, facts, tmp_path, DET_PARTS="machines")
    finally:
        slurm.set_partition("main", "up")
    cluster.wait_for_state(id, "COMPLETED")


def test_time_limits_are_invisible(slurm, tmp_path, undisturbed):
    # Each job leaves 12 s after its start, of which PyTorch's import takes some; the trial needs 24 s.
    with cluster_of(slurm, tmp_path, time_limit="24s", grace_period="12s") as cluster:
        id = cluster.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.08")
        cluster.wait_for_state(id, "COMPLETED")
        assert result(cluster, id) == undisturbed
        assert len(cluster.our_jobs()) > 2
        assert cluster.trial_of(id)["restarts"] == 0


def test_a_bad_account_is_said_and_not_asked_for_in_a_storm(slurm, tmp_path):
    with cluster_of(slurm, tmp_path, account="nobody") as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, "the last request failed: Slurm: Invalid account or account/partition combination")
        began = time.time()
        time.sleep(6)
        assert len([words for _, words in slurm.calls(began) if words.startswith("sbatch")]) <= 2


def test_an_unknown_partition_is_refused_at_the_start(slurm, tmp_path):
    cluster = SlurmCluster(tmp_path, slurm, partition="nope")
    with pytest.raises(AssertionError, match="resource pool default: Slurm: Partition nope not found"):
        cluster.start_master()


def test_a_master_killed_while_it_submits_leaves_no_orphan(slurm, tmp_path, undisturbed):
    with cluster_of(slurm, tmp_path) as cluster:
        for _ in range(3):
            began = time.time()
            id = cluster.create(NOISY)
            wait_until(lambda: any("sbatch" in words for _, words in slurm.calls(began)), "a submission", pause=0.001)  # noqa: B023
            cluster.master.kill()
            cluster.start_master()
            cluster.wait_for_state(id, "COMPLETED")
            assert result(cluster, id) == undisturbed
            wait_until(lambda: not cluster.allotments(), "the machine given back")
        wait_until(lambda: all(job.state in ENDED for job in cluster.our_jobs()), "no job of ours")


def test_slurm_is_asked_at_most_thirty_times_a_minute(slurm, tmp_path):
    with cluster_of(slurm, tmp_path) as cluster:
        began = time.time()
        options = [
            "--config",
            "searcher={name: random, metric: validation_loss, max_trials: 40, max_length: {batches: 20}}",
        ]
        id = cluster.create(NOISY, *options)
        cluster.wait_for_state(id, "COMPLETED")
        calls = [when for when, words in slurm.calls(began) if not words.startswith("srun")]
        spent = time.time() - began
        assert len(calls) <= 30 * (1 + spent / 60), calls
