"""Two masters on one database and no proxy before them: clients, agents and trials find the one that leads."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest
from browser import walk
from cluster import BINARY, PATIENCE, REPOSITORY, Cluster, Server, wait_until
from operating_masters import Writer
from ports import free_ports

sys.path.insert(0, str(REPOSITORY / "python"))
from determined.common.api import Session


class Pair(Cluster):
    """Two masters and an agent, which has the addresses of both."""

    def __init__(self, directory, database):
        super().__init__(directory, apart=True)
        self.database = database
        self.ports = free_ports(2)
        self.addresses = ",".join(f"http://127.0.0.1:{port}" for port in self.ports)
        self.masters = [self.launch(0)]
        self.masters[0].wait_for("is ready")
        self.masters.append(self.launch(1))
        self.masters[1].wait_for("standing by")
        self.port, self.leader = self.ports[0], 0
        self.start_agent()

    def launch(self, number):
        directory = self.directory if number == 0 else self.directory / "second"
        directory.mkdir(exist_ok=True)
        words = ["master", "--dir", directory, "--port", self.ports[number], "--db", self.database, *self.options]
        return Server(list(map(str, words)), self.directory / f"master{number}.out", self.environment)

    def wait_for_other(self):
        """Until the other master leads; how long that took."""
        began = time.monotonic()
        self.leader = 1 - self.leader
        self.masters[self.leader].wait_for("leading: this master writes to the database")
        took = time.monotonic() - began
        self.masters[self.leader].wait_for("is ready")
        self.port = self.ports[self.leader]
        return took

    def losses(self, experiment):
        return self.metrics(self.trial_of(experiment)["id"], "training")

    def end(self):
        for master in self.masters:
            if master.process.poll() is None:
                master.kill()
        super().end()


@pytest.fixture
def pair(tmp_path, postgres):
    started = []

    def starter(name):
        started.append(Pair(tmp_path / name, postgres.database(name)))
        return started[-1]

    yield starter
    for one in started:
        one.end()


def ask(port, path="/api/v1/master", **headers):
    """Status, headers and body, without following a redirect."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=5) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_everything_goes_on_at_two_addresses_when_the_leader_is(pair, noisy, how):
    cluster = pair(f"two_{how}")
    reference = cluster.create(noisy)
    cluster.wait_for_state(reference, "COMPLETED")
    experiment = cluster.create(noisy, "--config", "hyperparameters.seconds_per_batch=0.015")
    wait_until(lambda: cluster.losses(experiment), "a report")
    specs = [json.loads(path.read_text()) for path in (cluster.agent_directory / "tasks").glob("*/*/spec.json")]
    assert [spec["environment"]["DET_MASTERS"] for spec in specs] == [cluster.addresses] * len(specs) != []
    writer = Writer(cluster.addresses)
    wait_until(lambda: len(writer.acknowledged) > 20, "acknowledged models")
    first = cluster.masters[0]
    first.process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    before = len(writer.acknowledged)
    listing = subprocess.Popen(
        [BINARY, "-m", cluster.addresses, "experiment", "list"],
        env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    took = cluster.wait_for_other()
    print(f"{how}: the second master leads after {took:.1f} s")
    assert took < 5
    text = listing.communicate(timeout=PATIENCE)[0]
    assert listing.returncode == 0 and f"{experiment}" in text, text
    wait_until(lambda: len(writer.acknowledged) > before + 20, "models at the new leader")
    if how == "frozen":
        first.process.send_signal(signal.SIGCONT)
        assert first.process.wait(30) == 75
    writer.end()
    assert len(writer.uncertain) <= 1, "only what was on its way is uncertain"
    cluster.wait_for_state(experiment, "COMPLETED")
    assert cluster.losses(experiment) == cluster.losses(reference), "no report is lost or doubled"
    names = [model["name"] for model in Session(cluster.addresses, "determined", "").pages("/api/v1/models", "models")]
    assert len(names) == len(set(names))
    assert set(writer.acknowledged) <= set(names) <= set(writer.acknowledged) | set(writer.uncertain)
    if how == "killed":
        third = cluster.create(noisy)
        wait_until(lambda: cluster.losses(third), "a report of a trial that starts at the new leader")


def test_a_standby_sends_programs_and_browsers_to_the_leader(pair):
    cluster = pair("redirects")
    leader, standby = cluster.ports
    code, headers, body = ask(standby)
    assert code == 503 and headers["Det-Leader"] == f"http://127.0.0.1:{leader}"
    assert f"Ask the one that leads at http://127.0.0.1:{leader}" in json.loads(body)["error"]["error"]
    code, headers, _ = ask(standby, "/det/experiments?x=1", Accept="text/html,*/*")
    assert (code, headers["Location"]) == (307, f"http://127.0.0.1:{leader}/det/experiments?x=1")
    code, headers, body = ask(standby, "/det/", Accept="text/html", Host="elsewhere:8080")
    assert code == 503 and "Location" not in headers, "a loopback address is no use on another machine"
    assert "This master stands by" in body
    assert ask(standby, "/health")[0] == 503 and ask(leader, "/health")[0] == 200
    alone = cluster.addresses
    cluster.addresses = f"http://127.0.0.1:{standby}"
    assert "ID" in cluster.run("experiment", "list"), "one address is enough while the leader lives"
    assert Session(cluster.addresses, "determined", "").get("/api/v1/me")["user"]["username"] == "determined"
    assert re.search(rf"master_address: http://127.0.0.1:{leader}", cluster.run("version"))
    cluster.addresses = alone


def test_a_page_that_is_open_follows_the_leader(pair, noisy, tmp_path):
    cluster = pair("browser")
    settings = ("hyperparameters.seconds_per_batch=0.1", "searcher.max_length.batches=5000")
    experiment = cluster.create(noisy, *(part for one in settings for part in ("--config", one)))
    wait_until(lambda: cluster.losses(experiment), "a report")
    first = cluster.masters[0].process
    leader, standby = (f"http://127.0.0.1:{port}" for port in cluster.ports)

    def supervise():
        first.wait()
        cluster.wait_for_other()
        cluster.masters[0] = cluster.launch(0)

    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    facts = {"leader": leader, "standby": standby, "process": first.pid, "experiment": experiment}
    try:
        walk(cluster, facts, tmp_path, DET_PARTS="takeover")
    finally:
        first.kill()
        supervisor.join(PATIENCE)
    cluster.run("experiment", "kill", experiment)
