"""Logs that are kept for some days: who says for how many, and what becomes of those that are kept no longer."""

import re

from cluster import wait_until


def cleaned(cluster):
    text = cluster.run("-u", "admin", "task", "cleanup-logs")
    return int(re.search(r"Deleted (\d+) rows of log entries\.", text).group(1))


def test_a_log_goes_when_its_days_are_over_and_its_trial_stays(start, noisy, tmp_path):
    settings = tmp_path / "master.yaml"
    settings.write_text("retention_policy: {log_retention_days: 90, schedule: 1h}\n")
    cluster = start(options=["--slots", "1", "--config-file", str(settings)])
    first, second = cluster.create(noisy), cluster.create(noisy)
    for experiment in (first, second):
        cluster.wait_for_state(experiment, "COMPLETED")
    trials = [cluster.trial_of(experiment)["id"] for experiment in (first, second)]
    assert cluster.get(f"trials/{trials[0]}/remaining_log_retention_days")["remainingDays"] == 90
    assert cleaned(cluster) == 0
    command = cluster.run("command", "run", "--config", "resources.slots=0", "echo", "hello")
    assert "hello" in command

    assert "give either --days N or --forever" in cluster.run("trial", "set", "log-retention", trials[0], code=1)
    cluster.run("experiment", "set", "log-retention", first, "--forever")
    assert cluster.get(f"trials/{trials[0]}/remaining_log_retention_days")["remainingDays"] == -1
    cluster.run("trial", "set", "log-retention", trials[0], "--days", "0")
    before = len(cluster.log_lines(trials[0]))
    assert before > 5 and cleaned(cluster) == before
    assert "finished after" not in cluster.run("trial", "logs", trials[0])
    assert "finished after" in cluster.run("trial", "logs", trials[1])
    assert len(cluster.metrics(trials[0], "training")) >= 30

    cluster.run("experiment", "continue", first, "--config", "searcher.max_length.batches=400")
    wait_until(lambda: cluster.experiment(first)["state"] != "STATE_COMPLETED", "it goes on")
    cluster.wait_for_state(first, "COMPLETED")
    assert "finished after batch 400" in cluster.run("trial", "logs", trials[0]), "what came later is there"
