"""The pages in a real browser, against a real master with experiments that ended, were resumed and still run."""

import concurrent.futures
import os
import pathlib
import random
import socket
import struct
import threading
import time

import pytest
import yaml
from browser import walk
from cluster import BINARY, HERE, wait_until
from receiver import Receiver


@pytest.fixture
def receiver():
    it = Receiver()
    yield it
    it.close()


PROFILED = """import time
import traceback
import determined as det

print("\\033[1;31mred\\033[0m and plain", flush=True)
try:
    raise ValueError("odd batch")
except ValueError:
    traceback.print_exc()
with det.core.init() as context:
    context.profiler.on(sampling_interval=0.1, samples_per_report=2)
    for step in (1, 2):
        context.train.report_training_metrics(step, {"loss": 1 / step})
        time.sleep(0.8)
    context.profiler.off()
    context.train.report_training_metrics(3, {"loss": 0.1})
    for operation in context.searcher.operations():
        operation.report_completed(1.0)
"""


def profiled_experiment(cluster, directory):
    """An experiment whose script measures the machine for a moment."""
    directory.mkdir()
    (directory / "train.py").write_text(PROFILED)
    searcher = {"name": "single", "metric": "loss", "max_length": 1}
    config = {"name": "profiled", "entrypoint": "python3 train.py", "searcher": searcher, "max_restarts": 0}
    (directory / "const.yaml").write_text(yaml.safe_dump(config))
    return cluster.create(directory)


def reported(cluster, key, losses, **settings):
    """An experiment outside the cluster and its trial, which reported these losses, batch by batch."""
    experiment = outside(cluster, key, losses, **settings)
    return experiment, reported_trial(cluster, experiment, key, losses, {})


def outside(cluster, key, losses, **settings):
    searcher = {"name": "single", "metric": "loss", "max_length": {"batches": len(losses)}}
    config = yaml.safe_dump({"searcher": searcher} | settings)
    made = cluster.get(f"experiments/by-external-id/{key}", "PUT", {"config": config, "unmanaged": True})
    return made["experiment"]["id"]


def reported_trial(cluster, experiment, key, losses, hparams):
    wanted = {"experimentId": experiment, "hparams": hparams, "unmanaged": True}
    trial = cluster.get("trials", "PUT", {"createTrialRequest": wanted, "externalTrialId": key})["trial"]["id"]
    run = cluster.get(f"trials/{trial}/start", "POST", {"resume": True})["trialRunId"]

    def report(step):
        metrics = {"avgMetrics": {"loss": losses[step - 1]}}
        body = {"trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": metrics}
        cluster.get(f"trials/{trial}/metrics", "POST", {"group": "training", "metrics": body})

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(report, range(1, len(losses) + 1)))
    cluster.get(f"trials/{trial}", "PATCH", {"trialId": trial, "state": "STATE_COMPLETED"})
    return trial


def long_curve(cluster, reports=4000, peak=3000):
    """A trial outside the cluster with more reports than a chart shows, one of them a peak."""
    losses = [9.0 if step == peak else step % 7 / 7 for step in range(1, reports + 1)]
    _, trial = reported(cluster, "curve", losses, name="long curve")
    return {"trial": trial, "reports": reports, "peak": peak}


def lonely_value(cluster):
    """A trial that reported one great value; its experiment has a name and a label that are hard to show."""
    name, label = "a name that goes on " * 20, "lr, momentum"
    experiment, trial = reported(cluster, "lonely", [3e36], name=name, labels=[label])
    return {"id": experiment, "trial": trial, "label": label}


def seeds(cluster):
    """Trials outside the cluster: two learning rates, three seeds of each."""
    trials = []
    for lr in (0.1, 0.01):
        for seed in range(3):
            losses = [lr + (seed + 1) / (10 * step) for step in range(1, 9)]
            experiment = outside(cluster, "seeds", losses, name="seeds")
            hparams = {"lr": lr, "seed": seed}
            trials.append(reported_trial(cluster, experiment, f"seed {lr} {seed}", losses, hparams))
    return trials


def test_the_pages_work_in_a_browser(start, noisy, receiver, tmp_path):
    prices = {"price_per_slot_hour": 3600, "currency": "EUR"}
    settings = {"webhooks": {"allowed_addresses": ["127.0.0.1"]}, "resource_manager": prices}
    (tmp_path / "master.yaml").write_text(yaml.safe_dump(settings))
    cluster = start(options=("--slots", "2", "--config-file", str(tmp_path / "master.yaml")))
    search = cluster.create(noisy, config="search.yaml")
    resumed = cluster.create(noisy, "--config", "name=interrupted")
    profiled = profiled_experiment(cluster, tmp_path / "profiled")
    pictures = [cluster.create(HERE / "models" / "pictures") for _ in range(2)]
    trial = cluster.trial_of(resumed)["id"]
    wait_until(lambda: cluster.log_text(resumed).count("\nline "), "a line of the trial")
    cluster.run("experiment", "pause", resumed)
    cluster.wait_for_state(resumed, "PAUSED")
    cluster.run("experiment", "activate", resumed)
    cluster.wait_for_state(resumed, "COMPLETED")
    cluster.wait_for_state(search, "COMPLETED")
    for experiment in (profiled, *pictures):
        cluster.wait_for_state(experiment, "COMPLETED")
    long = cluster.create(
        noisy,
        *("--config", "name=long way", "--config", "searcher.max_length.batches=1000000"),
        *("--config", "hyperparameters.seconds_per_batch=0.02", "--config", "min_checkpoint_period.batches=100000"),
        *("--config", "min_validation_period.batches=100"),
    )
    waiting = ["waits first", "waits second"]
    large = ("--config", "resources.slots_per_trial=64", "--config", "hyperparameters.global_batch_size=64")
    for name in waiting:
        cluster.create(noisy, "--config", f"name={name}", *large)
    trials = cluster.get(f"experiments/{search}/trials")["trials"]
    facts = {
        "search": {
            "id": search,
            "name": "walked search",
            "description": "looked",
            "label": "vision",
            "metric": "validation_loss",
            "trials": len(trials),
            "best": trials[0]["id"],
        },
        "resumed": {"id": resumed, "trial": trial},
        "profiled": cluster.trial_of(profiled)["id"],
        "pictures": [cluster.trial_of(experiment)["id"] for experiment in pictures],
        "curve": long_curve(cluster),
        "lonely": lonely_value(cluster),
        "seeds": seeds(cluster),
        "waiting": waiting,
        "receiver": receiver.url,
        "long": {"id": long, "name": "long way", "trial": cluster.trial_of(long)["id"]},
    }
    walk(cluster, facts, tmp_path)
    if "hooks" in os.environ.get("DET_PARTS", "hooks"):
        assert len(receiver.documents()) == 1, "one test was posted, nothing else"


def test_a_page_without_experiments_shows_commands_that_train_a_first_model(start, tmp_path):
    cluster = start()
    home = tmp_path / "home"
    home.mkdir()
    path = f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}"
    walk(cluster, {"directory": str(home), "path": path}, tmp_path, DET_PARTS="first")


def test_the_pages_offer_each_user_what_her_roles_allow(start, tmp_path):
    cluster = start(options=["--slots", "1", "--authz", "rbac"])
    cluster.token = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    users = ["ann", "eve", "bob"]
    for user in users:
        cluster.get("users", "POST", {"user": {"username": user, "active": True}, "password": "pw"})

    def workspace(name):
        return {"name": name, "id": cluster.get("workspaces", "POST", {"name": name})["workspace"]["id"]}

    mine, theirs = workspace("vision"), workspace("speech")
    made = cluster.get(f"workspaces/{mine['id']}/projects", "POST", {"name": "detectors"})["project"]
    # Who makes a workspace may work in it; here the administrator steps back, so that the list begins empty.
    facts = {"users": users, "mine": mine, "theirs": theirs, "project": {"id": made["id"], "name": made["name"]}}
    admin = cluster.get("me")["user"]["id"]
    administrates = {"role": {"roleId": workspace_admin(cluster)}, "scopeWorkspaceId": mine["id"]}
    taken = {"userRoleAssignments": [{"userId": admin, "roleAssignment": administrates}]}
    cluster.get("roles/remove-assignments", "POST", taken)
    walk(cluster, facts, tmp_path, DET_PARTS="roles")


def workspace_admin(cluster):
    roles = cluster.get("roles/search", "POST", {})["roles"]
    return next(role["roleId"] for role in roles if role["name"] == "WorkspaceAdmin")


def test_browsers_that_leave_pages_while_they_load_do_the_master_no_harm(start, noisy):
    cluster = start()
    experiment = cluster.create(noisy, "--config", "searcher.max_length.batches=100000")
    trial = cluster.trial_of(experiment)["id"]
    paths = [
        "experiments?limit=50",
        f"experiments/{experiment}",
        f"experiments/{experiment}/trials",
        f"trials/metrics/trial_metrics?trialIds={trial}",
        f"trials/{trial}/metrics/follow",
        f"trials/{trial}/logs?follow=true",
    ]
    end = time.monotonic() + 6

    def leave(seed):
        chance = random.Random(seed)
        while time.monotonic() < end:
            request = (
                f"GET /api/v1/{chance.choice(paths)} HTTP/1.1\r\n"
                f"Host: 127.0.0.1\r\nAuthorization: Bearer {cluster.token}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", cluster.port)) as connection:
                connection.sendall(request.encode())
                time.sleep(chance.uniform(0, 0.012))
                # Closing resets the connection: the master notices at once.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    threads = [threading.Thread(target=leave, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cluster.master.process.poll() is None, cluster.master.output()[-2000:]
    assert cluster.experiment(experiment)["state"] in ("STATE_RUNNING", "STATE_STARTING")
