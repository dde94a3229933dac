"""Each trial as a job of its own, which is charged to its owner: `granularity: task`."""

import pathlib
import re
import tempfile

import pytest
from cluster import wait_until
from engine_pool import NOISY
from slurm import USER, account_of
from slurm_pool import ENDED, cluster_of

SEARCH = "searcher={name: random, metric: validation_loss, max_trials: 3, max_length: {batches: 100}}"


def create_as(cluster, user, *options):
    cluster.run("-u", "admin", "user", "create", user)
    words = ("experiment", "create", "const.yaml", ".", *options)
    said = cluster.run(*words, directory=NOISY, environment={"DET_USER": user, "DET_PASS": ""})
    return int(re.search(r"Created experiment (\d+)", said).group(1))


def lines_of(cluster, trial):
    return "".join(line["log"] for line in cluster.log_lines(trial["id"]))


def comment_of(slurm, job):
    return re.search(r"Comment=(.*)", slurm.run("scontrol", "show", "job", job.id).stdout).group(1).strip()


def test_each_trial_is_a_job_that_ends_with_it(slurm, tmp_path):
    # A node has two slots, and no trial shares one; an idle time-out of minutes does not keep any.
    with cluster_of(slurm, tmp_path, granularity="task", idle_timeout="10m") as cluster:
        id = cluster.create(NOISY, "--config", SEARCH)
        cluster.wait_for_state(id, "COMPLETED")
        cluster.wait_for_no_allotment()
        jobs = cluster.our_jobs()
        assert len(jobs) == 3
        trials = cluster.get(f"experiments/{id}/trials")["trials"]
        comments = {comment_of(slurm, job) for job in jobs}
        assert comments == {f"det {trial['taskIds'][0]} of determined" for trial in trials}
        agents = [re.search(r"starts on agent (\S+)", lines_of(cluster, trial)).group(1) for trial in trials]
        assert len(set(agents)) == 3


def test_an_account_that_slurm_refuses_holds_back_nobody_else(slurm, tmp_path):
    with cluster_of(slurm, tmp_path, granularity="task", account="{owner}") as cluster:
        refused = create_as(cluster, "eve")
        cluster.wait_for_reason(refused, "the last request failed: Slurm: Invalid account")
        accepted = create_as(cluster, "lab")  # Slurm knows this account
        cluster.wait_for_state(accepted, "COMPLETED")
        assert cluster.experiment(refused)["state"] != "STATE_COMPLETED"
        assert "last request failed" in cluster.experiment(refused)["waitingReason"]


@pytest.fixture
def shared():
    """A directory that all accounts of the machine may write: those of pytest are its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        for folder in ("logs", "work", "master/checkpoints"):
            (path / folder).mkdir(parents=True)
            (path / folder).chmod(0o1777)
        (path / "master").chmod(0o755)
        yield path


def test_a_trial_is_a_job_of_its_owner_and_moves_from_one_to_the_next(slurm, shared):
    settings = {
        "granularity": "task",
        "as_owner": ["runuser", "-u", "{owner}", "--"],
        "log_dir": str(shared / "logs"),
        "work_dir": str(shared / "work"),
        "time_limit": "24s",
        "grace_period": "12s",
    }
    account_of(USER)
    with cluster_of(slurm, shared / "master", **settings) as cluster:
        id = create_as(cluster, USER, "--config", "hyperparameters.seconds_per_batch=0.05")
        job = wait_until(lambda: cluster.our_jobs("RUNNING"), "its job")[0]
        assert job.user == USER
        cluster.wait_for_state(id, "COMPLETED")
        cluster.wait_for_no_allotment()
        assert len(cluster.our_jobs()) > 1
        assert {job.user for job in cluster.our_jobs()} == {USER}
        assert cluster.result(id)["batches"] == 300
        assert cluster.trial_of(id)["restarts"] == 0
        wait_until(lambda: all(job.state in ENDED for job in cluster.our_jobs()), "no job left")
        trial = cluster.trial_of(id)["id"]
        checkpoints = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
        newest = max(checkpoints, key=lambda c: c["metadata"]["steps_completed"])["uuid"]
        assert (cluster.directory / "checkpoints" / newest).owner() == USER
        root = create_as(cluster, "root")
        cluster.wait_for_reason(root, "user 'root' cannot submit jobs")
