"""Trials of several slots that wait at a moment to be disturbed."""

import json
import pathlib
import time

from cluster import Cluster, kill_process, wait_until
from one_slot import weights_hash

HERE = pathlib.Path(__file__).parent
RANKS = HERE / "models" / "ranks"
MOMENTS = ["mid-epoch", "epoch end", "validation", "checkpoint"]
BATCHES = 24


class Held:
    """An experiment that waits at its moment to be disturbed."""

    def __init__(self, cluster, directory, size, moment, definition=RANKS, options=()):
        self.cluster, self.size, self.moment = cluster, size, moment
        self.signals = directory
        directory.mkdir(parents=True)
        self.id = cluster.create(
            definition,
            "--config",
            f"resources.slots_per_trial={size}",
            "--config",
            f"hyperparameters.hold={moment}",
            "--config",
            f"data.signals={directory}",
            *(word for option in options for word in ("--config", option)),
        )

    def wait(self):
        """Until its ranks are there; of the moments that only the chief sees, the chief."""
        count = 1 if self.moment == "checkpoint" else self.size
        wait_until(lambda: len(list(self.signals.glob("held-*"))) >= count, f"{self.id} at {self.moment}")

    def go(self):
        (self.signals / "go").touch()

    def outcome(self, seconds=120):
        self.cluster.wait_for_state(self.id, "COMPLETED", seconds=seconds)
        trial = self.cluster.trial_of(self.id)["id"]
        newest = max(
            self.cluster.get(f"trials/{trial}/checkpoints")["checkpoints"],
            key=lambda c: c["metadata"]["steps_completed"],
        )
        assert newest["metadata"]["steps_completed"] == BATCHES
        validation = self.cluster.metrics(trial, "validation")
        assert all(metrics["validation_metrics"]["agree"] == 1.0 for _, metrics in validation)
        return {
            "training": self.cluster.metrics(trial, "training"),
            "validation": validation,
            "weights": weights_hash(self.cluster.directory / "checkpoints" / newest["uuid"]),
        }


class WithSlots(Cluster):
    """A master and agents apart, each agent with so many slots."""

    def __init__(self, directory, slots, agents=1, waiting=False):
        super().__init__(directory, apart=True, waiting=waiting)
        self.slots, self.agents = slots, agents
        self.others = []

    def start_agent(self):
        super().start_agent(*[f"--slots={self.slots}", "--agent-id=agent-0"])
        for number in range(1, self.agents):
            if number > len(self.others):
                self.others.append(self.another_agent(number))

    def directory_of(self, number):
        return self.directory / f"agent-{number}" if number else self.agent_directory

    def another_agent(self, number):
        return self.launch_agent(self.directory_of(number), f"--slots={self.slots}", f"--agent-id=agent-{number}")

    def end(self):
        for server in self.others:
            server.kill()
        super().end()

    def shims(self, allocations="*"):
        others = [self.directory / f"agent-{n}" for n in range(1, self.agents)]
        return super().shims(allocations) + [s for other in others for s in self.shims_in(other, allocations)]


def tasks_of(cluster, allocation_start):
    """Shims of one experiment by rank: of those ranks that run, while another trial of it may be about to start."""
    found = {}
    for file in cluster.agent_directory.glob(f"tasks/{allocation_start}.*/*/shim.json"):
        shim = json.loads(file.read_text())
        if shim["taskPid"] > 1 and not (file.parent / "exit.json").exists():
            found[int(file.parent.name)] = shim
    return found


def kill_rank(cluster, held):
    """The last rank of each trial."""
    for one in held:
        shims = tasks_of(cluster, one.id)
        kill_process(shims[max(shims)]["taskPid"])
    release(held)


def kill_agent(cluster, held):
    cluster.agent.kill()
    release(held)
    cluster.start_agent()


def kill_master(cluster, held):
    cluster.master.kill()
    release(held)
    cluster.start_master()


def pause(cluster, held):
    for one in held:
        cluster.run("experiment", "pause", one.id)
    release(held)
    wait_until(lambda: not cluster.shims(), "no process of the paused trials")
    for one in held:
        cluster.run("experiment", "activate", one.id)


def pause_in_place(cluster, held):
    """Their processes wait, on slots that count as free, and go on."""
    for one in held:
        cluster.run("experiment", "pause", one.id)
    release(held)
    processes = {shim["pid"] for shim in cluster.shims()}
    for one in held:
        wait_until(lambda one=one: "paused after batch" in cluster.log_text(one.id), f"{one.id} to wait")
    wait_until(lambda: not used_slots(cluster), "slots that are waited on to count as free")
    assert {shim["pid"] for shim in cluster.shims()} == processes
    assert len(processes) == sum(one.size for one in held)
    for one in held:
        cluster.run("experiment", "activate", one.id)


def used_slots(cluster):
    return [slot for agent in cluster.get("agents")["agents"] for slot in agent["slots"].values() if slot["container"]]


def runs_of(cluster, experiment):
    lines = cluster.log_lines(cluster.trial_of(experiment)["id"])
    return {line.get("allocationId") for line in lines} - {None, ""}


def release(held):
    time.sleep(0.2)  # what was done is on its way to the ranks
    for one in held:
        one.go()


def preempt(cluster, held):
    """The agent's slots are taken away, and given back."""
    cluster.run("-u", "admin", "agent", "disable", "agent-0")
    release(held)
    wait_until(lambda: not cluster.shims(), "no process of the preempted trials")
    cluster.run("-u", "admin", "agent", "enable", "agent-0")
