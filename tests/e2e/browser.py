"""The pages in a real browser."""

import json
import os
import pathlib
import shutil
import subprocess

from cluster import REPOSITORY

WALK = REPOSITORY / "webui" / "browser" / "check.mjs"


def program(name, *elsewhere):
    """The path of a program that tools/setup.sh installs."""
    found = shutil.which(name) or next((str(path) for path in elsewhere if path.exists()), None)
    assert found, f"{name} is not installed: tools/setup.sh installs it"
    return found


def walk(cluster, facts, tmp_path, **environment):
    """Uses the pages as webui/browser/check.mjs says, with what it is to know of the cluster."""
    node = program("node", REPOSITORY / ".venv" / "bin" / "node")
    chromium = os.environ.get("CHROMIUM") or program("chromium")
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    pictures = pathlib.Path(os.environ.get("DET_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [node, WALK, cluster.url, tmp_path / "facts.json", pictures],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"CHROMIUM": chromium} | environment,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\npictures: {pictures}"
