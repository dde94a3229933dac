"""The Slurm of the tests behaves as a site's does."""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from cluster import wait_until
from slurm import USER

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def near_its_limit(slurm):
    """A job that is warned of its time limit, which Slurm checks every 30 s: the other tests run meanwhile."""
    script = "trap 'echo warned; exit 0' USR1; echo started; sleep 200 & wait"
    return slurm.submit(script, "--partition=short", "--time=1", "--signal=B:USR1@60", "--nodelist=node1")


def test_a_job_of_an_ordinary_user_runs_in_a_moment_and_ends(slurm):
    began = time.monotonic()
    job = slurm.submit("id -un; sleep 1", "--partition=main", "--job-name=mine", user=USER)
    slurm.wait_for_state(job, "RUNNING")
    assert time.monotonic() - began < 10
    done = slurm.wait_for_state(job, "COMPLETED")
    assert slurm.output(job).splitlines() == [USER]
    assert (done.name, done.user, done.restarts, done.exit_code) == ("mine", USER, 0, 0)


def test_a_job_of_two_nodes_runs_one_task_on_each_with_its_own_devices(slurm):
    script = "srun bash -c 'echo \"$SLURM_PROCID $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES\"'"
    job = slurm.submit(script, "--nodes=2", "--ntasks-per-node=1", "--gres=gpu:2", user=USER)
    slurm.wait_for_state(job, "COMPLETED")
    tasks = sorted(line.split() for line in slurm.output(job).splitlines())
    assert [(rank, devices) for rank, _, devices in tasks] == [("0", "0,1"), ("1", "0,1")]
    assert len({node for _, node, _ in tasks}) == 2


def test_a_killed_node_takes_its_processes_along_and_its_job_starts_again_elsewhere(slurm):
    script = "echo on $SLURMD_NODENAME ${SLURM_RESTART_COUNT:-0}; sleep 200"
    job = slurm.submit(script, "--nodelist=node4,node3", "--nodes=2", "--requeue", "--open-mode=append", user=USER)
    once = slurm.submit("echo here; sleep 200", "--nodelist=node4", "--no-requeue", user=USER)
    slurm.wait_until(lambda: slurm.output(job) and slurm.output(once), "output of both")
    lost = slurm.pids("node4")
    assert len(lost) > 2
    slurm.kill_node("node4", noticed=True)
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in lost)
    slurm.wait_for_state(once, "NODE_FAIL")
    slurm.wait_until(lambda: slurm.job(job).restarts == 1, "a second start")
    assert slurm.node_states()["node4"].startswith("down")
    slurm.start_node("node4")
    slurm.resume_node("node4")
    slurm.wait_until(lambda: slurm.job(job).state == "RUNNING", "running again")
    slurm.wait_until(lambda: "1" in slurm.output(job).split(), "the second start's output")
    slurm.cancel(job)
    assert slurm.wait_for_state(job, "CANCELLED").restarts == 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--partition=nowhere", "Invalid partition name specified"),
        ("--account=nobody", "Invalid account or account/partition combination specified"),
        ("--gres=gpu:3", "Requested node configuration is not available"),
    ],
)
def test_what_no_site_can_give_is_refused_in_slurms_words(slurm, option, words):
    refused = slurm.run("sbatch", option, user=USER, stdin="#!/bin/bash\n")
    assert refused.returncode == 1
    assert words in refused.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--partition=down"], "PartitionDown"),
        (["--partition=limited", "--nodes=2"], "PartitionNodeLimit"),
        (["--partition=short", "--time=10"], "PartitionTimeLimit"),
    ],
)
def test_what_the_partition_does_not_give_now_waits_with_a_reason(slurm, options, reason):
    job = slurm.submit("true", "--no-requeue", *options, user=USER)
    slurm.wait_until(lambda: slurm.job(job).reason == reason, reason)
    slurm.cancel(job)


def test_a_drained_node_and_a_closed_partition_take_no_new_job(slurm):
    slurm.drain("node2")
    slurm.set_partition("main", "down")
    job = slurm.submit("true", "--nodelist=node2", user=USER)
    slurm.wait_until(lambda: slurm.job(job).reason == "PartitionDown", "a closed partition")
    slurm.set_partition("main", "up")
    slurm.wait_until(lambda: slurm.job(job).reason.startswith("ReqNodeNotAvail"), "a drained node")
    slurm.resume_node("node2")
    slurm.wait_for_state(job, "COMPLETED")


def test_calls_of_those_who_use_its_environment_are_counted(slurm):
    began = time.time()
    slurm.run("squeue", "--me", user=USER, counted=True)
    slurm.jobs()
    assert [words for _, words in slurm.calls(since=began)] == ["squeue --me"]


def test_nothing_is_left_when_the_test_process_is_killed():
    script = (
        "from slurm import Slurm; slurm = Slurm(nodes=1).up(); job = slurm.submit('setsid sleep 200 & sleep 200')\n"
        "slurm.wait_until(lambda: len(slurm.pids('node1')) > 4, 'a job')\n"
        "print(slurm.root, *slurm.pids('node1'), *slurm.pids('slurmctld'), *slurm.pids('munged'), flush=True)\n"
        "import time; time.sleep(200)"
    )
    paths = {
        "PYTHONPATH": f"{HERE}:{HERE.parent}",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "TMPDIR": tempfile.gettempdir(),
    }
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=paths)
    root, *pids = process.stdout.readline().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(pids) > 6
    shutil.rmtree(root)
    wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids), "an end of all processes")


def test_a_job_near_its_time_limit_gets_its_signal(slurm, near_its_limit):
    slurm.wait_for_state(near_its_limit, "COMPLETED")
    assert slurm.output(near_its_limit).split()[:2] == ["started", "warned"]


def test_jobs_go_on_while_the_controller_is_away(slurm):
    # After the one above: a controller that starts begins its 30 s anew.
    job = slurm.submit("sleep 200", user=USER)
    slurm.wait_for_state(job, "RUNNING")
    slurm.stop_controller()
    assert "DOWN" in slurm.run("scontrol", "ping").stdout
    slurm.start_controller()
    assert slurm.job(job).state == "RUNNING"
    slurm.cancel(job)
    slurm.wait_for_state(job, "CANCELLED")
