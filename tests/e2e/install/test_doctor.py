"""`det doctor` finds what is wrong with a machine and says what to do about it."""

import http.server
import json
import os
import subprocess
import threading

import pytest
from cluster import BINARY, PYTHON
from ports import free_ports


def doctor(*words, **environment):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("DET")}
    variables |= {"DET_PYTHON": PYTHON, **environment}
    (free,) = free_ports(1)
    words = (*words, "--port", str(free)) if "--port" not in words else words
    return subprocess.run([BINARY, "doctor", *words], env=variables, capture_output=True, text=True)


def check_of(name, *words, **environment):
    done = doctor(*words, "--json", **environment)
    (found,) = [check for check in json.loads(done.stdout) if check["name"] == name]
    assert (found["verdict"] == "problem") <= (done.returncode == 1)
    return found


def test_a_machine_that_can_train_has_no_problem(tmp_path):
    done = doctor("--dir", str(tmp_path / "state"))
    assert done.returncode == 0, done.stdout
    assert "This machine can train" in done.stdout
    assert not (tmp_path / "state").exists()  # it only looks


def test_a_python_that_is_not_there_is_named(tmp_path):
    found = check_of("Python", DET_PYTHON="/nowhere/python3")
    assert found["verdict"] == "problem"
    assert "/nowhere/python3" in found["found"]
    assert "DET_PYTHON" in found["advice"]


def test_a_python_without_the_package_and_pytorch_gets_the_commands_that_install_them():
    environment = {"DET_PYTHON": "/usr/bin/python3", "PYTHONPATH": ""}
    assert check_of("determined", **environment)["advice"].startswith(
        "/usr/bin/python3 -m pip install determined-cpp=="
    )
    assert check_of("PyTorch", **environment)["advice"] == "/usr/bin/python3 -m pip install 'determined-cpp[torch]'"


def test_a_port_that_another_program_uses_is_no_port_for_a_master():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    found = check_of(f"port {port}", "--port", str(port))
    server.shutdown()
    assert (found["verdict"], found["found"]) == ("problem", "used by another program")
    assert f"det up --port {port + 1}" in found["advice"]


def test_a_directory_where_nothing_can_be_written_is_a_problem():
    found = check_of("disk", "--dir", "/proc/1/state")
    assert found["verdict"] == "problem"
    assert "det up --dir" in found["advice"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "not an address"])
def test_a_master_that_does_not_answer_is_a_problem(address):
    found = check_of("master", DET_MASTER=address)
    assert found["found"] == f"nobody answers at {address}"


def test_the_checkpoint_storage_of_a_configuration_is_tried(tmp_path):
    usable, unusable, misspelled, none = (tmp_path / f"{name}.yaml" for name in ("a", "b", "c", "d"))
    usable.write_text(f"checkpoint_storage: {{type: shared_fs, host_path: {tmp_path}, storage_path: checkpoints}}\n")
    unusable.write_text("checkpoint_storage: {type: directory, container_path: /proc/checkpoints}\n")
    misspelled.write_text("checkpoint_storage: {type: s3, buckett: models}\n")
    none.write_text("name: nothing\n")
    found = check_of("storage", "--config", str(usable))
    assert (found["verdict"], found["found"]) == (
        "ok",
        f"shared_fs {tmp_path}: a file was written, read and deleted",
    )
    assert list((tmp_path / "checkpoints").iterdir()) == []
    found = check_of("storage", "--config", str(unusable))
    assert found["verdict"] == "problem"
    assert "/proc/checkpoints" in found["found"]
    assert str(unusable) in found["advice"]
    assert "buckett" in check_of("storage", "--config", str(misspelled))["found"]
    assert check_of("storage", "--config", str(none))["found"] == f"{none} has no checkpoint_storage"
    assert "cannot read /nowhere.yaml" in check_of("storage", "--config", "/nowhere.yaml")["found"]
