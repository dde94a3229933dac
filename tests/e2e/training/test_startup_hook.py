"""Packages that a model definition's startup-hook.sh installs."""

import shutil
import subprocess
import sys

import pytest
from cluster import HERE, PYTHON, REPOSITORY, Cluster

sys.path.insert(0, str(REPOSITORY / "python" / "tests" / "processes"))
from test_requirements import wheel

HOOK = """
pip install --no-index --quiet ./{wheel}
export WORD=said
"""
SCRIPT = """
import os, tiny
import determined
print("tiny", tiny.VERSION, os.environ["WORD"])
with determined.core.init() as core:
    core.train.report_validation_metrics(1, {"validation_loss": 0.5})
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("hook") / "cluster").start()
    yield it
    it.end()


@pytest.fixture
def definition(tmp_path):
    folder = tmp_path / "definition"
    shutil.copytree(HERE / "models" / "noisy", folder)
    (folder / "startup-hook.sh").write_text(HOOK.format(wheel=wheel(folder, "1.5")))
    model = folder / "model_def.py"
    model.write_text(model.read_text() + '\nimport os, tiny\nprint("tiny", tiny.VERSION, os.environ["WORD"])\n')
    (folder / "train.py").write_text(SCRIPT)
    return folder


@pytest.mark.parametrize("entrypoint", ["model_def:NoisyTrial", "python3 train.py"])
def test_a_trial_has_what_its_hook_installed_and_the_agents_python_does_not(cluster, definition, entrypoint):
    length = ["--config", "searcher.max_length.batches=20"]
    id = cluster.create(definition, "--config", f"entrypoint={entrypoint}", *length)
    cluster.wait_for_state(id, "COMPLETED")
    assert "tiny 1.5 said" in cluster.log_text(id)
    assert not list(cluster.agent_directory.rglob("tiny.py")), "they are removed with the task"
    assert subprocess.run([PYTHON, "-c", "import tiny"], capture_output=True, check=False).returncode == 1
