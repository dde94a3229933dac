"""What can happen to a PostgreSQL server and the way to it, with real processes: nothing acknowledged is lost."""

import contextlib
import ipaddress
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from cluster import PATIENCE, REPOSITORY, Server, wait_until
from operating_masters import Writer
from ports import free_ports
from postgres import PostgresServer, programs

sys.path.insert(0, str(REPOSITORY / "python"))
from determined.common.api import Session

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def server():
    """Starts servers of a test's own."""
    started = []

    def starter(*options, **places):
        started.append(PostgresServer(*options, **places))
        return started[-1]

    yield starter
    for one in started:
        one.end()


class Master(Server):
    """A master alone."""

    def __init__(self, directory, database, *options, within=(), host="127.0.0.1"):
        directory.mkdir(exist_ok=True)
        (self.port,) = free_ports(1)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET")}
        words = ["master", "--dir", str(directory), "--port", str(self.port), "--db", database, *options]
        super().__init__(words, directory / "out", kept, within)
        self.url = f"http://{host}:{self.port}"


@pytest.fixture
def master(tmp_path):
    started = []

    def starter(*arguments, **settings):
        started.append(Master(tmp_path / f"master{len(started)}", *arguments, **settings))
        return started[-1]

    yield starter
    for one in started:
        if one.process.poll() is None:
            one.kill()


def check(writer, url):
    """All that was acknowledged is there, once; and nothing else but what may have been made."""
    names = [model["name"] for model in Session(url, "determined", "").pages("/api/v1/models", "models")]
    assert len(names) == len(set(names))
    assert set(writer.acknowledged) <= set(names) <= set(writer.acknowledged) | set(writer.uncertain)


def test_the_server_is_switched_over_to_a_replica(server, master, tmp_path):
    primary = server("synchronous_standby_names=*")
    database = "switched"
    # Until the replica is there, nobody waits for it.
    primary.run("psql", "-d", "postgres", "-c", "SET synchronous_commit = local", "-c", f"CREATE DATABASE {database}")
    replica = server()
    replica.crash()
    shutil.rmtree(replica.data)
    copied = subprocess.run(
        [
            *(programs() / "pg_basebackup", "-D", replica.data, "-R", "-h", "127.0.0.1", "-p", str(primary.port)),
            *("-U", "det", "-c", "fast", "--no-sync"),
        ],
        user=primary.user, cwd="/", capture_output=True, text=True,
    )  # fmt: skip
    assert copied.returncode == 0, copied.stderr
    replica.start()
    both = f"postgres://det@127.0.0.1:{replica.port},127.0.0.1:{primary.port}/{database}"
    leader = master(both)
    leader.wait_for("is ready")
    writer = Writer(leader.url)
    wait_until(lambda: len(writer.acknowledged) > 20, "acknowledged models")
    primary.crash()
    before = len(writer.acknowledged)
    promoted = subprocess.run([programs() / "pg_ctl", "promote", "-D", replica.data], user=primary.user, cwd="/")
    assert promoted.returncode == 0
    wait_until(lambda: len(writer.acknowledged) > before + 20, "models on the replica")
    writer.end()
    leader.wait_for("cannot be reached. Changes wait until it can")
    leader.wait_for("can be reached again and is being written")
    check(writer, leader.url)


def test_the_database_comes_back_as_of_a_moment(server, master, tmp_path):
    shared = pathlib.Path(tempfile.mkdtemp(prefix="det-archive-"))
    shared.chmod(0o777)
    archive, base = shared / "archive", shared / "base"
    primary = server("archive_mode=on", f"archive_command=mkdir -p {archive} && cp %p {archive}/%f")
    leader = master(primary.database("kept"))
    leader.wait_for("is ready")
    session = Session(leader.url, "determined", "")
    session.post("/api/v1/models", {"name": "before the copy"})
    copied = subprocess.run(
        [
            *(programs() / "pg_basebackup", "-D", base, "-h", "127.0.0.1", "-p", str(primary.port), "-U", "det"),
            *("-c", "fast"),
        ],
        user=primary.user, cwd="/", capture_output=True, text=True,
    )  # fmt: skip
    assert copied.returncode == 0, copied.stderr
    session.post("/api/v1/models", {"name": "before the moment"})
    moment = primary.ask("kept", "SELECT clock_timestamp()")
    session.delete("/api/v1/models/before%20the%20copy")
    session.post("/api/v1/models", {"name": "after the moment"})
    last = primary.ask("kept", "SELECT pg_walfile_name(pg_switch_wal())")
    wait_until(lambda: primary.ask("kept", "SELECT last_archived_wal FROM pg_stat_archiver") >= last, "the archive")
    leader.kill()
    primary.end()

    restored = server(
        f"restore_command=cp {archive}/%f %p", f"recovery_target_time={moment}", "recovery_target_action=promote"
    )
    restored.crash()
    shutil.rmtree(restored.data)
    shutil.move(base, restored.data)
    (restored.data / "recovery.signal").touch()
    restored.start()
    wait_until(lambda: restored.ask("kept", "SELECT pg_is_in_recovery()") == "f", "the end of the recovery")
    again = master(restored.url("kept"))
    again.wait_for("is ready")
    names = {model["name"] for model in Session(again.url, "determined", "").pages("/api/v1/models", "models")}
    assert names == {"before the copy", "before the moment"}
    shutil.rmtree(shared)


@root
def test_a_full_disk_is_said_and_passes(server, master, tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    try:
        for directory in [tmp_path, *tmp_path.parents][:3]:  # the server runs as another user
            directory.chmod(0o755)
        data = place / "data"
        data.mkdir()
        postgres = server(data=data)
        leader = master(postgres.database("full"))
        leader.wait_for("is ready")
        session = Session(leader.url, "determined", "")
        session.post("/api/v1/models", {"name": "before"})
        with (place / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(1 << 16))
                ballast.flush()
        notes = "x" * 100_000
        done = []

        def write():
            for number in range(20):
                session.post("/api/v1/models", {"name": f"m{number}", "notes": notes, "description": str(number)})
                done.append(number)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        leader.wait_for("the disk is full: cannot write .*full. Changes wait until there is space")
        stuck = len(done)
        (place / "ballast").unlink()
        leader.wait_for("the disk has space again")
        thread.join(PATIENCE)
        names = {model["name"] for model in Session(leader.url, "determined", "").pages("/api/v1/models", "models")}
        assert names >= {"before", *(f"m{number}" for number in done)} and len(done) >= stuck
        assert leader.process.poll() is None
    finally:
        for one in (leader.process, postgres.process):
            one.kill()
            one.wait()
        subprocess.run(["umount", "-l", place])


def test_exhausted_connections_are_waited_for(server, master):
    postgres = server()
    postgres.run("createuser", "plain")
    postgres.run("createdb", "-O", "plain", "exhausted")
    leader = master(f"postgres://plain@127.0.0.1:{postgres.port}/exhausted")
    leader.wait_for("is ready")
    writer = Writer(leader.url)
    wait_until(lambda: len(writer.acknowledged) > 5, "acknowledged models")
    postgres.ask("postgres", "ALTER ROLE plain CONNECTION LIMIT 0")
    postgres.ask("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plain'")
    leader.wait_for("cannot be reached. Changes wait until it can")
    refused = master(f"postgres://plain@127.0.0.1:{postgres.port}/exhausted")
    refused.process.wait(PATIENCE)
    assert "Close other sessions, or raise max_connections" in refused.output()
    postgres.ask("postgres", "ALTER ROLE plain CONNECTION LIMIT -1")
    leader.wait_for("can be reached again")
    before = len(writer.acknowledged)
    wait_until(lambda: len(writer.acknowledged) > before + 5, "models once there are connections again")
    writer.end()
    check(writer, leader.url)


class Wire:
    """A network namespace that is connected with this machine, until it is cut."""

    def __init__(self):
        self.name = f"det{os.getpid() % 100_000}"
        subnet = ipaddress.ip_network((int(ipaddress.ip_address("10.210.0.0")) + (os.getpid() % 16_000) * 4, 30))
        self.here, self.there = map(str, subnet.hosts())
        outer, inner = f"{self.name}o", f"{self.name}i"
        self.outer = outer
        for words in (
            f"netns add {self.name}",
            f"link add {outer} type veth peer name {inner} netns {self.name}",
            f"addr add {self.here}/30 dev {outer}",
            f"link set {outer} up",
            f"-n {self.name} addr add {self.there}/30 dev {inner}",
            f"-n {self.name} link set {inner} up",
            f"-n {self.name} link set lo up",
        ):
            done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
            if done.returncode != 0:
                self.end()
                pytest.skip(f"no network namespace can be made here: ip {words}: {done.stderr}")
        self.within = ["ip", "netns", "exec", self.name]

    def cut(self):
        subprocess.run(["ip", "link", "set", self.outer, "down"], check=True)

    def mend(self):
        subprocess.run(["ip", "link", "set", self.outer, "up"], check=True)

    def end(self):
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)


@pytest.fixture
def wire():
    if shutil.which("ip") is None:
        pytest.skip("needs ip (Debian: iproute2)")
    made = Wire()
    yield made
    made.end()


@root
@pytest.mark.parametrize("standby", [True, False], ids=["with_a_standby", "alone"])
def test_the_network_of_the_leader_is_cut(server, master, wire, standby):
    postgres = server("listen_addresses=*")
    with (postgres.data / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {wire.there}/32 trust\n")
    postgres.ask("postgres", "SELECT pg_reload_conf()")
    near = postgres.database("cut")
    leader = master(f"postgres://det@{wire.here}:{postgres.port}/cut", within=wire.within)
    leader.wait_for("is ready")
    rows = "SELECT epoch, commit_number FROM leadership"
    if not standby:
        wire.cut()
        leader.wait_for("cannot be reached|is ready")
        began = time.monotonic()
        waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE client_addr IS NOT NULL AND client_addr <> '127.0.0.1'"
        wait_until(lambda: postgres.ask("postgres", waiting) == "0", "the end of sessions whose client is gone", 20)
        print(f"the server missed its client after {time.monotonic() - began:.1f} s")
        wire.mend()
        epoch = postgres.ask("cut", rows).split("|")[0]
        beats = postgres.ask("cut", "SELECT beats FROM leader_beats")
        wait_until(lambda: postgres.ask("cut", "SELECT beats FROM leader_beats") != beats, "a beat")
        assert postgres.ask("cut", rows).split("|")[0] == epoch and leader.process.poll() is None
        return
    other = master(near)
    other.wait_for("standing by")
    wire.cut()
    began = time.monotonic()
    other.wait_for("leading: this master writes to the database")
    print(f"the second master leads after {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 5
    other.wait_for("is ready")
    writer = Writer(other.url)
    wait_until(lambda: len(writer.acknowledged) > 5, "models at the new leader")
    wire.mend()
    assert leader.process.wait(30) == 75, leader.output()
    writer.end()
    assert postgres.ask("cut", rows).split("|")[0] == "2"
    check(writer, other.url)
