"""The commands of the guide pages about Ray and machines by SSH work."""

import os
import pathlib
import shlex
import shutil
import subprocess

import pytest
from cluster import BINARY, PYTHON, REPOSITORY
from guide import read_few_images, script_of
from ports import free_ports


@pytest.fixture
def home(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "det").symlink_to(pathlib.Path(BINARY).resolve())
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    read_few_images(tmp_path / "examples")
    return tmp_path


def follow(page, home, environment, further_settings):
    """What the page's commands print, with settings of the test in the provider."""
    (port,) = free_ports(1)
    script = script_of((REPOSITORY / "docs" / "guide" / f"{page}.md").read_text())
    lines = "".join(f"      {line}\n" for line in further_settings)
    before = script
    script = script.replace("      master_url:", f"{lines}      master_url:").replace(
        "idle_timeout: 5m", "idle_timeout: 3s"
    )
    assert script != before
    script = script.replace("8080", str(port)).replace("det master ", f"det master --port {port} ")
    variables = {k: v for k, v in os.environ.items() if not k.startswith("DET")} | environment
    variables |= {"HOME": str(home), "DET_MASTER": f"http://127.0.0.1:{port}", "DET_PYTHON": PYTHON}
    variables |= {"PATH": f"{home}/bin:{variables['PATH']}", "DET_PYTHON_PATH": str(REPOSITORY / "python")}
    script = "trap 'kill $(jobs -p); wait' EXIT\n" + script
    done = subprocess.run(["bash"], input=script, cwd=home, env=variables, text=True, timeout=300, capture_output=True)
    said = done.stdout + done.stderr
    log = (home / "master.log").read_text()
    assert done.returncode == 0, said[-4000:] + log
    assert "finished after batch" in said, said
    return said


def agent_options(*options):
    words = ["--python", PYTHON, "--python-path", str(REPOSITORY / "python"), *options]
    return f"agent_options: [{', '.join(map(shlex.quote, words))}]"


def test_the_commands_of_the_page_about_ray_work(ray_cluster, home):
    settings = [f"python: {ray_cluster.programs / 'python'}", agent_options(), f"work_dir: {home}"]
    said = follow("ray", home, ray_cluster.environment(), settings)
    assert "Ray" in said.split("resource-pool describe")[1]


def test_the_commands_of_the_page_about_ssh_work(machines, home):
    settings = [f"ssh_options: [{', '.join(machines.options)}]", agent_options(), f"work_dir: {home}"]
    said = follow("ssh-machines", home, {}, settings)
    assert "machines by SSH" in said.split("resource-pool describe")[1]
