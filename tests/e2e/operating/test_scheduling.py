"""The queue and the schedulers on the real program."""

import json

import yaml
from cluster import wait_until

POOLS = {
    "resource_manager": {"scheduler": {"type": "priority", "preemption": True}},
    "resource_pools": [{"pool_name": "default"}, {"pool_name": "shared", "scheduler": {"type": "fair_share"}}],
}


def test_an_important_experiment_takes_the_slot_and_the_other_ends_with_the_same_numbers(start, noisy, tmp_path):
    (tmp_path / "master.yaml").write_text(yaml.safe_dump(POOLS))
    cluster = start(options=["--slots", "1", "--config-file", str(tmp_path / "master.yaml")])
    config = yaml.safe_load((noisy / "const.yaml").read_text())

    def create(priority):
        name = f"priority{priority}.yaml"
        (tmp_path / name).write_text(yaml.safe_dump({**config, "resources": {"priority": priority}}))
        return cluster.create(noisy, config=str(tmp_path / name))

    undisturbed = create(50)
    cluster.wait_for_state(undisturbed, "COMPLETED")
    low = create(50)
    trial = cluster.trial_of(low)["id"]
    wait_until(lambda: cluster.metrics(trial, "training"), "the unimportant one trains")
    high = create(10)
    why = json.loads(cluster.run("job", "why", high, "--json"))
    assert why["scheduler"] == "priority"
    cluster.wait_for_state(high, "COMPLETED")
    cluster.wait_for_state(low, "COMPLETED")
    trial = cluster.get(f"trials/{trial}")["trial"]
    assert trial["restarts"] == 0
    first = cluster.trial_of(undisturbed)["id"]
    assert cluster.metrics(first, "validation") == cluster.metrics(trial["id"], "validation")
    ended = [cluster.get(f"experiments/{e}")["experiment"]["endTime"] for e in (high, low)]
    assert ended[0] < ended[1]


def test_the_queue_says_when_what_waits_will_start(start, noisy):
    cluster = start(options=["--slots", "1"])
    trains = ("--config", "searcher.max_length.batches=100", "--config", "hyperparameters.seconds_per_batch=0.1")
    first = cluster.create(noisy, *trains, "--config", "name=first")
    second = cluster.create(noisy, *trains, "--config", "name=first")

    def forecast():
        jobs = cluster.get("job-queues/forecast")["jobs"]
        entries = {job["full"]["jobId"]: int(job["full"]["entityId"]) for job in cluster.get("job-queues-v2")["jobs"]}
        return {entries[job["jobId"]]: job for job in jobs if job["jobId"] in entries}

    def foreseen():
        jobs = forecast()
        return jobs if jobs[first]["byProgress"] and cluster.experiment(first)["progress"] < 0.9 else None

    jobs = wait_until(foreseen, "progress of the first")
    assert "startSeconds" not in jobs[first], "it runs"
    assert 0 < jobs[first]["endSeconds"] == jobs[second]["startSeconds"] < 120
    assert "endSeconds" not in jobs[second], "nothing with its name has completed"
    cluster.wait_for_state(first, "COMPLETED")
    jobs = wait_until(lambda: forecast().get(second), "the second in the queue")
    assert jobs["byProgress"] or jobs["earlierExperiment"] == first
    cluster.run("experiment", "kill", second)


def test_the_order_of_the_queue_is_changed_from_the_command_line_and_survives_the_master(start, noisy):
    cluster = start(options=["--slots", "1"])
    large = ("--config", "resources.slots_per_trial=64", "--config", "hyperparameters.global_batch_size=64")
    ids = [cluster.create(noisy, *large) for _ in range(3)]
    cluster.run("job", "update", ids[2], "--ahead-of", ids[0])

    def queue():
        jobs = json.loads(cluster.run("job", "list", "--json"))
        return [int(job["full"]["entityId"]) for job in jobs]

    assert queue() == [ids[2], ids[0], ids[1]]
    cluster.master.kill()
    cluster.start_master()
    assert queue() == [ids[2], ids[0], ids[1]]
    cluster.run("experiment", "pause", ids[1])
    assert queue() == [ids[2], ids[0]], "who is paused waits for nothing"
    assert "is paused" in cluster.run("job", "why", ids[1])


def test_an_experiment_runs_on_the_agent_that_has_what_it_asks_for(start, noisy, tmp_path):
    cluster = start(apart=True)
    second = cluster.launch_agent(tmp_path / "second", "--agent-id", "big", "--slots", "1", "--attribute", "gpu=a100")
    wait_until(lambda: len(cluster.get("agents")["agents"]) == 2, "both agents")
    shown = {agent["id"]: agent["attributes"] for agent in cluster.get("agents")["agents"]}
    assert shown.pop("big") == {"gpu": "a100"} and list(shown.values()) == [{}]
    config = yaml.safe_load((noisy / "const.yaml").read_text())

    def create(value, *options):
        name = tmp_path / f"{value}.yaml"
        name.write_text(yaml.safe_dump({**config, "resources": {"agent_attributes": {"gpu": value}}}))
        return cluster.create(noisy, *options, config=str(name))

    id = create("a100")
    cluster.wait_for_state(id, "COMPLETED")
    assert "starts on agent big" in cluster.log_text(id)
    waits = create("h100")
    why = cluster.run("job", "why", waits)
    assert "needs 1 slot on agents with gpu=h100; the resource pool has none" in why
    second.kill()
