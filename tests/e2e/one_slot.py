"""Trials of one slot that are killed or paused at any moment, and all that a run leaves behind."""

import hashlib
import os
import random
import re
import time

import torch
from cluster import kill_process, wait_until

SEED = int(os.environ.get("DET_SEED", "0")) or random.randrange(1, 10**6)
BATCHES = 300


def weights_hash(directory):
    checkpoint = torch.load(directory / "state-dict.pth", weights_only=False)
    digest = hashlib.sha256()

    def add(value):
        if isinstance(value, torch.Tensor):
            digest.update(value.numpy().tobytes())
        elif isinstance(value, dict):
            for key in sorted(value, key=str):
                digest.update(str(key).encode())
                add(value[key])
        elif isinstance(value, (list, tuple)):
            for item in value:
                add(item)
        else:
            digest.update(repr(value).encode())

    for key in ("models_state_dict", "optimizers_state_dict"):
        add(checkpoint[key])
    return digest.hexdigest()


def outcome(cluster, experiment):
    """All that a finished run leaves behind and that must not depend on what was killed."""
    trial = cluster.trial_of(experiment)["id"]
    newest = max(
        cluster.get(f"trials/{trial}/checkpoints")["checkpoints"], key=lambda c: c["metadata"]["steps_completed"]
    )
    assert newest["metadata"]["steps_completed"] == BATCHES
    return {
        "training": cluster.metrics(trial, "training"),
        "validation": cluster.metrics(trial, "validation"),
        "weights": weights_hash(cluster.directory / "checkpoints" / newest["uuid"]),
    }


def check_log(lines):
    """In the log of every run the lines are there from 0 to the last, once each; the last run's reach the end."""
    runs = {}
    for line in lines:
        if match := re.match(r"line (\d+) batch (\d+)", line["log"]):
            runs.setdefault(line["allocationId"], []).append(tuple(map(int, match.groups())))
    for allocation, numbers in runs.items():
        assert [n for n, _ in numbers] == list(range(len(numbers))), f"the log of {allocation}"
    assert list(runs.values())[-1][-1][1] == BATCHES - 1


def kill_one_of(cluster, which):
    """Kills one process of the running trial, waiting for it where the trial is between two runs; 0 if it has ended."""

    def running():
        # A shim that has not started its task yet says 0.
        shims = [shim for shim in cluster.shims() if shim.get(which, 0) > 1]
        return shims or all(e["state"] == "STATE_COMPLETED" for e in cluster.get("experiments")["experiments"])

    shims = wait_until(running, "a process of the trial")
    if shims is True:
        return 0
    kill_process(random.choice(shims)[which])
    return 1


def kill_trial(cluster):
    return kill_one_of(cluster, "taskPid")


def kill_shim(cluster):
    return kill_one_of(cluster, "pid")


def kill_agent(cluster):
    cluster.agent.kill()
    time.sleep(random.random() * 0.5)
    cluster.start_agent()
    return 0


def kill_master(cluster):
    """The whole of `det up`, or only the master where the agent is apart."""
    cluster.master.kill()
    time.sleep(random.random() * 0.5)
    cluster.start_master()
    return 0


def pause(cluster):
    experiment = max(e["id"] for e in cluster.get("experiments")["experiments"])
    said = cluster.run("experiment", "pause", experiment, code=None)
    if "is COMPLETED; it cannot be paused" in said:  # too late, as a kill may be
        return 0
    assert f"Paused experiment {experiment}" in said
    wait_until(lambda: not cluster.shims(), "no process of the paused trial")
    said = cluster.run("experiment", "activate", experiment, code=None)
    assert (
        f"Activated experiment {experiment}" in said or "it cannot be activated" in said
    )  # its last batch was on its way
    return 0


def visible(cluster, trial):
    return cluster.metrics(trial, "training"), cluster.metrics(trial, "validation"), cluster.log_lines(trial)


def wait_for_batch(cluster, trial, due):
    wait_until(lambda: cluster.get(f"trials/{trial}")["trial"]["totalBatchesProcessed"] >= due, f"batch {due}")


def disturb(cluster, noisy, undisturbed, acts):
    """Trains with every act at its moment, a fraction of the run's batches, and compares."""
    print(f"DET_SEED={SEED}: " + ", ".join(f"{act.__name__} at {part:.2f}" for part, act in acts))
    experiment = cluster.create(noisy)
    trial = cluster.trial_of(experiment)["id"]
    restarts = 0
    seen = []
    for part, act in acts:
        due = int(part * BATCHES) // 10 * 10
        wait_for_batch(cluster, trial, due)
        time.sleep(random.random() * 0.1)
        seen.append(visible(cluster, trial))
        restarts += act(cluster)
    cluster.wait_for_state(experiment, "COMPLETED")
    result = outcome(cluster, experiment)
    lines = cluster.log_lines(trial)
    for training, validation, log in seen:
        assert all(row in result["training"] for row in training)
        assert all(row in result["validation"] for row in validation)
        assert all(line in lines for line in log)
    for group in ("training", "validation"):
        batches = [b for b, _ in result[group]]
        assert batches == sorted(set(batches)), group
        assert result[group] == undisturbed[group], group
    assert result["weights"] == undisturbed["weights"]
    check_log(lines)
    left = cluster.get(f"trials/{trial}")["trial"]["restarts"]
    assert left <= restarts, f"{left} restarts counted, {restarts} processes of the trial were killed"
    return left, restarts
