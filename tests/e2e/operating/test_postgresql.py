"""Masters whose state is in PostgreSQL: restarted, killed and frozen while a second one stands by."""

import json
import re
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from cluster import BINARY, Cluster, Server, wait_until
from ports import free_ports


@pytest.fixture
def second(start, tmp_path):
    """Starts a master beside that of a cluster, on the same database and another port."""
    started = []

    def starter(cluster, database):
        directory = tmp_path / f"second{len(started)}"
        directory.mkdir()
        (port,) = free_ports(1)
        arguments = ["master", "--dir", str(directory), "--port", str(port), "--db", database]
        server = Server([*arguments, "--idle-seconds", "0"], directory / "master.out", cluster.environment)
        server.port = port
        started.append(server)
        return server

    yield starter
    for server in started:
        if server.process.poll() is None:
            server.kill()


def losses(cluster, experiment):
    return cluster.metrics(cluster.trial_of(experiment)["id"], "training")


def test_an_experiment_trains_on_postgresql_through_restarts_of_the_master_and_of_the_server(start, noisy, postgres):
    reference = start(options=["--slots", "1"])
    expected = reference.create(noisy)
    reference.wait_for_state(expected, "COMPLETED")

    cluster = start(apart=True, options=["--db", postgres.database("trained")])
    assert not (cluster.directory / "determined.db").exists()
    experiment = cluster.create(noisy)
    wait_until(lambda: losses(cluster, experiment), "a report")
    cluster.master.kill()
    cluster.start_master()
    postgres.crash()
    postgres.start()
    cluster.wait_for_state(experiment, "COMPLETED")
    assert losses(cluster, experiment) == losses(reference, expected)
    assert postgres.ask("trained", "SELECT COUNT(*) FROM metrics WHERE metric_group = 'training'") == str(
        len(losses(cluster, experiment))
    )
    restored = postgres.database("restored")
    dump = postgres.directory / "trained.dump"
    postgres.run("pg_dump", "-Fc", "-f", str(dump), "trained")
    postgres.run("pg_restore", "-d", "restored", str(dump))
    cluster.master.kill()
    cluster.options[cluster.options.index("--db") + 1] = restored
    cluster.start_master()
    assert losses(cluster, experiment) == losses(reference, expected), "a dump is whole"


@pytest.mark.parametrize("how", ["killed", "frozen", "stopped"])
def test_a_second_master_takes_over(start, noisy, postgres, second, how):
    database = postgres.database(f"shared_{how}")
    cluster = start(apart=True, options=["--db", database])
    experiment = cluster.create(noisy)
    wait_until(lambda: losses(cluster, experiment), "a report")
    before = losses(cluster, experiment)
    standby = second(cluster, database)
    standby.wait_for(r"another master leads \(.*, process \d+\); standing by")

    def refusal():
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{standby.port}/api/v1/master", timeout=5)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())["error"]["error"]
        except urllib.error.URLError:
            return None

    code, sentence = wait_until(refusal, "an answer of the master that waits")
    assert code == 503 and "this master does not lead" in sentence

    began = time.monotonic()
    first = cluster.master
    first.process.send_signal({"killed": signal.SIGKILL, "frozen": signal.SIGSTOP, "stopped": signal.SIGTERM}[how])
    standby.wait_for(r"leading: this master writes to the database")
    took = time.monotonic() - began
    print(f"{how}: the second master leads after {took:.1f} s")
    assert took < 5
    standby.wait_for(r"is ready")
    cluster.port, cluster.master, cluster.token = standby.port, standby, ""
    assert losses(cluster, experiment)[: len(before)] == before
    if how == "frozen":
        first.process.send_signal(signal.SIGCONT)
        assert first.process.wait(30) == 75
        assert "another master" in first.output()
    elif how == "stopped":
        assert first.process.wait(30) == 0


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("mysql://localhost/x", "it must be the URL of a PostgreSQL database: postgres://USER@HOST:PORT/NAME"),
        ("postgres://det@127.0.0.1:1/x", "Check the host and the port, and that the server runs"),
        ("nowhere", "Create it with 'createdb --encoding UTF8 --template template0 NAME'"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_with_advice(start, postgres, tmp_path, target, sentence):
    cluster = Cluster(tmp_path / "refused")
    url = target if ":" in target else postgres.url(target)
    text = cluster.run("master", "--dir", cluster.directory, "--db", url, master=False, code=1)
    assert sentence in text


def test_a_cluster_moves_to_postgresql_and_back(start, noisy, postgres, tmp_path):
    database = postgres.database("moved")
    cluster = start(options=["--slots", "1"])
    experiment = cluster.create(noisy)
    cluster.wait_for_state(experiment, "COMPLETED")
    before, lines = losses(cluster, experiment), cluster.log_text(experiment)
    here = f"sqlite:{cluster.directory}"
    assert "is in use by process" in cluster.run("migrate", "--from", here, "--to", database, master=False, code=1)
    cluster.master.kill()
    said = cluster.run("migrate", "--from", here, "--to", database, master=False)
    assert re.search(r"Copied \d+ rows of \d+ tables; all are the same in both databases\.", said)
    cluster.options += ["--db", database]
    cluster.start_master()
    assert losses(cluster, experiment) == before and cluster.log_text(experiment) == lines
    assert "determined.db is not used: the state is in PostgreSQL" in cluster.master.output()
    second = cluster.create(noisy)
    cluster.wait_for_state(second, "COMPLETED")
    cluster.master.kill()
    cluster.run("migrate", "--from", database, "--to", f"sqlite:{tmp_path / 'back'}", master=False)
    (cluster.directory / "determined.db").unlink()
    (tmp_path / "back" / "determined.db").rename(cluster.directory / "determined.db")
    del cluster.options[-2:]
    cluster.start_master()
    assert losses(cluster, experiment) == before and cluster.experiment(second)["state"] == "STATE_COMPLETED"


def test_a_move_that_is_killed_in_the_middle_of_a_table_goes_on(start, postgres, tmp_path):
    cluster = start()
    cluster.master.kill()
    many = 200_000
    with sqlite3.connect(cluster.directory / "determined.db") as source:
        source.execute(
            "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < ?) "
            "INSERT INTO settings (name, value) SELECT 'many/' || x, hex(randomblob(40)) FROM n",
            (many,),
        )
    source.close()
    database = postgres.database("killed")
    here, back = f"sqlite:{cluster.directory}", tmp_path / "back"
    unfinished = back / "determined.db.unfinished"

    def kill_when(begun, *command):
        with subprocess.Popen([BINARY, "migrate", *command], stdout=subprocess.DEVNULL) as moving:
            wait_until(lambda: begun() or moving.poll() is not None, "rows of the copy")
            moving.kill()
        assert moving.returncode == -signal.SIGKILL, "it had not ended by itself"

    def rows():
        exists = postgres.ask("killed", "SELECT to_regclass('unfinished_copy') IS NOT NULL") == "t"
        return int(postgres.ask("killed", "SELECT COUNT(*) FROM settings")) if exists else 0

    kill_when(rows, "--from", here, "--to", database)
    assert 0 < rows() < many
    text = cluster.run("master", "--dir", tmp_path / "none", "--db", database, master=False, code=1)
    assert f"holds an unfinished copy of '{cluster.directory}'" in text
    there = cluster.run("migrate", "--from", here, "--to", database, master=False)
    kill_when(
        lambda: unfinished.exists() and unfinished.stat().st_size > 4_000_000,
        *("--from", database, "--to", f"sqlite:{back}"),
    )
    text = cluster.run("master", "--dir", back, "--port", "0", master=False, code=1)
    assert "contains an unfinished copy of a database" in text
    again = cluster.run("migrate", "--from", database, "--to", f"sqlite:{back}", master=False)
    assert again == there and re.search(r"settings +20\d\d\d\d ", there), "all rows and checksums are the same"


def test_a_backup_of_a_running_master_goes_into_another_database(start, noisy, postgres, tmp_path):
    database = postgres.database("backed_up")
    cluster = start(options=["--slots", "1", "--db", database])
    experiment = cluster.create(noisy)
    cluster.wait_for_state(experiment, "COMPLETED")
    before = losses(cluster, experiment)
    copy = tmp_path / "copy"
    said = cluster.run("backup", copy, "--db", database, "--dir", cluster.directory, master=False)
    assert f"'det migrate --from sqlite:{copy} --to postgres://" in said and "checkpoint files" in said
    assert (copy / "agent.token").read_bytes() == (cluster.directory / "agent.token").read_bytes()
    cluster.master.kill()
    restored = postgres.database("from_backup")
    cluster.run("migrate", "--from", f"sqlite:{copy}", "--to", restored, master=False)
    cluster.options = ["--slots", "1", "--db", restored, "--idle-seconds", "0"]
    cluster.start_master()
    assert losses(cluster, experiment) == before


def test_the_configuration_names_the_database_and_hides_the_password(start, postgres, tmp_path):
    postgres.database("configured")
    settings = tmp_path / "master.yaml"
    settings.write_text(
        f"db: {{host: 127.0.0.1, port: {postgres.port}, user: det, password: s3cret, name: configured, "
        "ssl_mode: disable}\n"
    )
    cluster = start(options=["--slots", "1", "--config-file", str(settings)])
    assert postgres.ask("configured", "SELECT COUNT(*) > 0 FROM users") == "t"
    cluster.token = "-"
    cluster.token = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]
    shown = json.dumps(cluster.get("master/config"))
    assert "s3cret" not in shown and '"password": "********"' in shown
    settings.write_text("db: {hostname: x}\n")
    text = cluster.run("master", "--dir", tmp_path / "x", "--config-file", settings, master=False, code=1)
    assert "db.hostname is not known; db has host, port, user" in text
