"""Trials on machines that are reached by ssh alone, with real sshds."""

import contextlib
import os
import pathlib
import re
import signal
import time

import pytest
from cluster import BINARY, PYTHON, REPOSITORY, wait_until
from engine_pool import NOISY, RANKS, SLOW, EngineCluster, processes_with


class SshPool(EngineCluster):
    def __init__(self, directory, machines, **provider):
        settings = {
            "type": "ssh",
            "hosts": machines.names,
            "ssh_options": machines.options,
            "program": str(pathlib.Path(BINARY).resolve()),
        } | provider
        super().__init__(directory, {"DET_PYTHON": PYTHON, "DET_PYTHON_PATH": str(REPOSITORY / "python")}, **settings)
        self.machines = machines

    def pilots(self, name):
        """The ids of the pilots that run on a machine."""
        return _pilots_on(self.machines, name)


def _pilots_on(machines, name):
    return [pid for pid in processes_with(f"TMPDIR={machines.directory(name)}") if _is_pilot(pid)]


def _is_pilot(pid):
    with contextlib.suppress(OSError):
        return b"--pilot" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextlib.contextmanager
def cluster_of(machines, directory, **provider):
    cluster = SshPool(directory, machines, **provider).start()
    try:
        yield cluster
    finally:
        print(cluster.shown())
        for file in machines.root.glob("*/state/det/pilots/*.log"):
            print(file, file.read_text(errors="replace")[-3000:])
        cluster.end()
        for name in machines.names:
            for pid in cluster.pilots(name):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(machines, tmp_path_factory):
    with cluster_of(machines, tmp_path_factory.mktemp("ssh")) as one:
        yield one


@pytest.fixture
def idle(machines, cluster):
    """The machines, with nothing on them."""
    cluster.wait_for_no_allotment()
    wait_until(lambda: not any(_pilots_on(machines, name) for name in machines.names), "idle machines")
    return machines


def test_a_pilot_comes_for_a_trial_and_leaves_when_it_is_idle(cluster, undisturbed):
    assert undisturbed["batches"] == 300
    assert [len(cluster.pilots(name)) for name in ("box1", "box2")] == [1, 0]
    cluster.wait_for_no_allotment()
    cluster.wait_for_no_process()
    assert cluster.pilots("box1") == []
    assert list(cluster.work.iterdir()) == []


def test_a_gang_of_two_machines_with_two_slots_each_trains_as_one_trial(cluster):
    id = cluster.create(RANKS, "--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never")
    wait_until(lambda: all(cluster.pilots(name) for name in ("box1", "box2")), "a pilot on each machine")
    cluster.wait_for_state(id, "COMPLETED")
    assert len(cluster.get("agents")["agents"]) == 2
    cluster.wait_for_no_allotment()


@pytest.mark.parametrize("loss", ["pilot", "reboot", "master"])
def test_a_trial_whose_machine_is_lost_ends_with_the_same_bits(cluster, machines, undisturbed, loss):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_checkpoint(id)
    (pilot,) = cluster.pilots("box1")
    if loss == "pilot":
        os.kill(pilot, signal.SIGKILL)
    elif loss == "reboot":
        machines.shut_down("box1")
        for pid in processes_with(str(machines.directory("box1"))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        machines.start("box1")
    else:
        cluster.master.kill()
        cluster.start_master()
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.result(id) == undisturbed
    assert cluster.trial_of(id)["restarts"] == 0
    assert ("was lost" in cluster.log_text(id)) == (loss != "master")
    cluster.wait_for_no_allotment()
    cluster.wait_for_no_process()


def test_a_machine_that_is_off_is_said_and_skipped_and_used_again_later(idle, tmp_path, undisturbed):
    idle.shut_down("box1")
    with cluster_of(idle, tmp_path) as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_state(id, "COMPLETED")
        assert cluster.result(id) == undisturbed
        assert len(cluster.pilots("box2")) == 1
        options = ["--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never"]
        gang = cluster.create(RANKS, *options)
        cluster.wait_for_reason(gang, r"box1 does not answer: connect to host 127.0.0.1 port \d+: Connection refused")
        idle.start("box1")
        cluster.wait_for_state(gang, "COMPLETED")


def test_machines_that_are_all_off_are_said(idle, tmp_path):
    for name in idle.names:
        idle.shut_down(name)
    try:
        with cluster_of(idle, tmp_path) as cluster:
            id = cluster.create(NOISY)
            cluster.wait_for_reason(id, "no machine can be used: box1 does not answer: .*Connection refused; box2 does")
    finally:
        for name in idle.names:
            idle.start(name)


def test_a_machine_runs_one_pilot_at_a_time(idle, tmp_path):
    options = ["--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never"]
    with cluster_of(idle, tmp_path / "one") as one, cluster_of(idle, tmp_path / "other") as other:
        first = one.create(NOISY, *SLOW)
        one.wait_for_state(first, "RUNNING")
        second = other.create(RANKS, *options)
        other.wait_for_reason(second, r"box1 runs det-")
        one.wait_for_state(first, "COMPLETED")
        other.wait_for_state(second, "COMPLETED")


def test_the_program_is_copied_once_with_what_it_needs(idle, tmp_path, undisturbed):
    python = ["--python", EngineCluster.python]
    with cluster_of(idle, tmp_path, program="", agent_options=python) as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_state(id, "COMPLETED")
        assert cluster.result(id) == undisturbed
        (pilot,) = cluster.pilots("box1")
        (copy,) = (idle.directory("box1") / "cache/det/programs").iterdir()
        assert os.readlink(f"/proc/{pilot}/exe") == str(copy / "bin/det")
        mapped = {line.split()[-1] for line in pathlib.Path(f"/proc/{pilot}/maps").read_text().splitlines()}
        libraries = [path for path in mapped if ".so" in path and not path.startswith(str(copy))]
        of_the_machine = r"lib(c|m|dl|pthread|rt|resolv|nss_\w+)\.so|ld-linux"
        assert [path for path in libraries if not re.search(of_the_machine, path)] == []
        assert copy.stat().st_mode & 0o077 == 0
        made = copy.stat().st_ctime_ns
        cluster.wait_for_no_allotment()
        wait_until(lambda: not cluster.pilots("box1"), "an idle machine")
        cluster.wait_for_state(cluster.create(NOISY), "COMPLETED")
        assert copy.stat().st_ctime_ns == made


def test_nothing_secret_is_in_arguments_and_files(idle, tmp_path):
    with cluster_of(idle, tmp_path) as cluster:
        id = cluster.create(NOISY, *SLOW)
        words, end = b"", time.monotonic() + 60
        while cluster.experiment(id)["state"] != "STATE_RUNNING" or not cluster.pilots("box1"):
            assert time.monotonic() < end
            words += b"".join(_read(file) for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"))
        assert b"/bin/sh -s" in words
        assert not re.search(rb"det_pilot_\w|det_node_\w", words)
        files = list((idle.directory("box1") / "state").rglob("det-*"))
        assert files
        for file in files:
            assert b"det_pilot_" not in file.read_bytes()
            assert file.stat().st_mode & 0o077 == 0


def test_a_program_that_is_not_there_is_said_and_not_asked_for_in_a_storm(idle, tmp_path):
    with cluster_of(idle, tmp_path, program="/no/such/det") as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, "the last request failed: box1: the pilot ended: .*/no/such/det: No such file")


def _read(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""
