"""The database of an original cluster, imported: its users, experiments and models are there in a master of ours."""

import json
import pathlib
import re

import pytest
from cluster import REPOSITORY, Cluster

SQL = REPOSITORY / "src" / "store" / "import" / "testing" / "original_0_38.sql"
CHECKPOINT = "cccccccc-0000-4000-8000-000000000002"
FILES = {"state_dict.pth": "eleven byte", "metadata.json": '{"steps_completed": 300}'}


@pytest.fixture
def original(postgres, tmp_path):
    """The database of an original cluster, with the files of its one checkpoint."""
    storage = tmp_path / "storage"
    for name, text in FILES.items():
        (storage / CHECKPOINT / "code").mkdir(parents=True, exist_ok=True)
        (storage / CHECKPOINT / name).write_text(text)
    name = f"original_{tmp_path.name}".replace("-", "_").lower()
    url = postgres.database(name)
    sql = tmp_path / "original.sql"
    sql.write_text(SQL.read_text().replace("@STORAGE@", str(storage)))
    tmp_path.chmod(0o755)
    postgres.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", name, "-c", sql.read_text())
    return url


def test_an_imported_cluster_is_there_with_its_passwords_and_goes_on(start, noisy, original, tmp_path):
    cluster = Cluster(tmp_path / "cluster0")
    said = cluster.run("import-determined", original, "--into", cluster.directory, master=False)
    assert re.search(r"experiments +4 +0 +1\n", said) and "deleted in the original cluster (3)" in said
    again = json.loads(
        cluster.run("import-determined", original, "--into", cluster.directory, "--json", "-q", master=False)
    )
    assert all(count["imported"] == 0 for count in again["counts"])

    cluster = start(options=["--slots", "1"])
    assert "is in use by process" in cluster.run(
        "import-determined", original, "--into", cluster.directory, "-q", master=False, code=1
    )
    ada = {"DET_USER": "ada", "DET_PASS": "Lovelace1"}
    assert "invalid" in cluster.run("experiment", "list", environment={"DET_USER": "ada", "DET_PASS": "x"}, code=1)

    def det(*arguments, **options):
        return cluster.run(*arguments, environment=ada, **options)

    experiments = {row["id"]: row for row in json.loads(det("experiment", "list", "--all", "--json"))}
    assert {id: row["state"] for id, row in experiments.items()} == {
        1: "STATE_COMPLETED",
        2: "STATE_CANCELED",
        4: "STATE_COMPLETED",
        5: "STATE_ERROR",
    }
    assert experiments[1]["labels"] == ["brass", "steam"] and experiments[1]["username"] == "ada"
    assert '"loss"' in det("trial", "describe", "11", "--metrics", "--json")
    assert "starting" in det("trial", "logs", "11") and "continued" in det("trial", "logs", "11")
    assert "engine" in det("model", "list")
    assert CHECKPOINT in det("model", "list-versions", "engine")
    assert CHECKPOINT in det("experiment", "list-checkpoints", "1")
    for mode in ("direct", "master"):
        det("checkpoint", "download", CHECKPOINT, "-o", tmp_path / mode, "--mode", mode)
        assert {p.name: p.read_text() for p in (tmp_path / mode).glob("*.*")} == FILES
        assert (tmp_path / mode / "code").is_dir()

    # What is new gets ids of its own.
    created = cluster.create(noisy)
    assert created == 6
    cluster.wait_for_state(created, "COMPLETED")
    assert cluster.trial_of(created)["id"] == 15


def test_an_import_says_what_to_do_where_it_cannot(postgres, tmp_path):
    cluster = Cluster(tmp_path / "refused")

    def refused(source):
        return cluster.run("import-determined", source, "--into", tmp_path / "new", master=False, code=1)

    assert "Create it with" in refused(postgres.url("nowhere"))
    assert "is not the database of a Determined cluster" in refused(postgres.url("postgres"))
    assert "Check the host and the port" in refused("postgres://det@127.0.0.1:1/x")
    assert not pathlib.Path(tmp_path / "new").exists()
