"""The pages in a real browser, against a real master with experiments that ended, were resumed and still run."""

import json
import os
import pathlib
import shutil
import subprocess

from cluster import REPOSITORY, wait_until

WALK = REPOSITORY / "webui" / "browser" / "check.mjs"


def program(name, *elsewhere):
    """The path of a program that tools/setup.sh installs."""
    found = shutil.which(name) or next((str(path) for path in elsewhere if path.exists()), None)
    assert found, f"{name} is not installed: tools/setup.sh installs it"
    return found


def test_the_pages_work_in_a_browser(start, noisy, tmp_path):
    node = program("node", REPOSITORY / ".venv" / "bin" / "node")
    chromium = os.environ.get("CHROMIUM") or program("chromium")
    cluster = start(options=("--slots", "2"))
    search = cluster.create(noisy, config="search.yaml")
    resumed = cluster.create(noisy, "--config", "name=interrupted")
    trial = cluster.trial_of(resumed)["id"]
    wait_until(lambda: cluster.log_text(resumed).count("\nline "), "a line of the trial")
    cluster.run("experiment", "pause", resumed)
    cluster.wait_for_state(resumed, "PAUSED")
    cluster.run("experiment", "activate", resumed)
    cluster.wait_for_state(resumed, "COMPLETED")
    cluster.wait_for_state(search, "COMPLETED")
    long = cluster.create(
        noisy,
        *("--config", "name=long way", "--config", "searcher.max_length.batches=1000000"),
        *("--config", "hyperparameters.seconds_per_batch=0.02", "--config", "min_checkpoint_period.batches=100000"),
        *("--config", "min_validation_period.batches=100"),
    )
    trials = cluster.get(f"experiments/{search}/trials")["trials"]
    facts = {
        "search": {
            "id": search,
            "name": "walked search",
            "description": "looked",
            "label": "vision",
            "metric": "validation_loss",
            "trials": len(trials),
            "best": trials[0]["id"],
        },
        "resumed": {"id": resumed, "trial": trial},
        "long": {"id": long, "name": "long way", "trial": cluster.trial_of(long)["id"]},
    }
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    pictures = pathlib.Path(os.environ.get("DET_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(parents=True, exist_ok=True)
    walk = subprocess.run(
        [node, WALK, cluster.url, tmp_path / "facts.json", pictures],
        capture_output=True,
        text=True,
        timeout=180,
        env=os.environ | {"CHROMIUM": chromium},
    )
    assert walk.returncode == 0, f"{walk.stdout}\n{walk.stderr}\npictures: {pictures}"
