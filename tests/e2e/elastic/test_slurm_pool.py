"""Trials on machines that a real Slurm gives: they come when somebody waits, go when nobody does, and lose nothing."""

import pathlib
import re
import time

import pytest
from browser import walk
from cluster import wait_until
from engine_pool import NOISY, RANKS, SLOW
from prometheus_client.parser import text_string_to_metric_families
from slurm_pool import ENDED, SlurmCluster, cluster_of


@pytest.fixture(scope="module")
def cluster(slurm, tmp_path_factory):
    with cluster_of(slurm, tmp_path_factory.mktemp("slurm")) as one:
        yield one


def test_a_machine_comes_for_a_trial_and_goes_when_it_is_idle(cluster, slurm, undisturbed):
    assert undisturbed["batches"] == 300
    assert len(cluster.our_jobs()) == 1
    cluster.wait_for_no_allotment()
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
    (allotment,) = [each for each in cluster.allotments() if each["engineId"] == str(job.id)]
    log = pathlib.Path(allotment["log"]).read_text()
    assert "is connected to" in log
    assert "det_pilot_" not in log
    assert "det_node_" not in log
    cluster.run("experiment", "kill", id)


def test_a_gang_of_two_nodes_with_two_slots_each_trains_as_one_trial(cluster):
    id = cluster.create(RANKS, "--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never")
    cluster.wait_for_state(id, "COMPLETED")
    ended = re.findall(rf"info {id}\.\S+ rank (\d) exited with status 0", cluster.pilot_logs())
    assert sorted(ended) == ["0", "1", "2", "3"]
    cluster.wait_for_no_allotment()  # a trial of the next test would run on one of its two nodes


@pytest.mark.parametrize("loss", ["scancel", "node", "requeue"])
def test_a_trial_whose_machine_is_lost_ends_with_the_same_bits(cluster, slurm, undisturbed, loss):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_checkpoint(id)
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
    assert cluster.result(id) == undisturbed
    assert cluster.trial_of(id)["restarts"] == 0
    assert "was lost" in cluster.log_text(id) or "leaves" in cluster.log_text(id)


def test_the_engines_words_reach_whoever_waits(cluster, slurm, tmp_path):
    slurm.set_partition("main", "down")
    try:
        cluster.wait_for_no_allotment()
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, r"waits for 1 node of Slurm partition main \(job \d+ is pending: PartitionDown\)")
        shown = cluster.run("resource-pool", "describe", "default")
        assert "PartitionDown" in shown
        (allotment,) = cluster.allotments()
        assert allotment["engineId"] in shown
        assert allotment["log"] in shown
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
        assert cluster.result(id) == undisturbed
        assert len(cluster.our_jobs()) > 2
        assert cluster.trial_of(id)["restarts"] == 0


def test_a_bad_account_is_said_and_not_asked_for_in_a_storm(slurm, tmp_path):
    with cluster_of(slurm, tmp_path, account="nobody") as cluster:
        began = time.time()
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, "the last request failed: Slurm: Invalid account or account/partition combination")

        def submissions():
            return [when for when, words in slurm.calls(began) if words.startswith("sbatch")]

        wait_until(lambda: len(submissions()) > 1, "the second try")
        first, second = submissions()
        assert second - first >= 5


def test_an_unknown_partition_is_refused_at_the_start(slurm, tmp_path):
    cluster = SlurmCluster(tmp_path, slurm, partition="nope")
    with pytest.raises(AssertionError, match="resource pool default: Slurm: Partition nope not found"):
        cluster.start_master()


def test_a_partition_whose_limit_no_trial_fits_is_refused_at_the_start(slurm, tmp_path):
    cluster = SlurmCluster(tmp_path, slurm, partition="short", grace_period="2m")
    words = "jobs of partition short end after 60 s; that must be longer than grace_period, which is 120 s"
    with pytest.raises(AssertionError, match=words):
        cluster.start_master()


def test_the_figures_for_prometheus_are_those_of_the_pool(cluster):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_state(id, "RUNNING")
    families = {family.name: family for family in text_string_to_metric_families(cluster.text("/metrics"))}
    nodes = {sample.labels["state"]: sample.value for sample in families["det_provider_nodes"].samples}
    assert nodes == {"requested": 0, "pending": 0, "running": 1, "leaving": 0}
    assert [sample.value for sample in families["det_provider_failures"].samples] == [0]
    assert families["det_provider_calls"].samples[0].value > 0
    cluster.wait_for_state(id, "COMPLETED")


def test_a_master_killed_while_it_submits_leaves_no_orphan(slurm, tmp_path, undisturbed):
    with cluster_of(slurm, tmp_path, idle_timeout="0s") as cluster:
        for _ in range(3):
            began = time.time()
            id = cluster.create(NOISY)
            wait_until(lambda: any("sbatch" in words for _, words in slurm.calls(began)), "a submission", pause=0.001)  # noqa: B023
            cluster.master.kill()
            cluster.start_master()
            cluster.wait_for_state(id, "COMPLETED")
            assert cluster.result(id) == undisturbed
            cluster.wait_for_no_allotment()
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
