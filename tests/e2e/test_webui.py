"""The pages in a real browser, against a real master with experiments that ended, were resumed and still run."""

import json
import os
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

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
    waiting = ["waits first", "waits second"]
    for name in waiting:
        cluster.create(noisy, "--paused", "--config", f"name={name}")
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
        "waiting": waiting,
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


def test_browsers_that_leave_pages_while_they_load_do_the_master_no_harm(start, noisy):
    cluster = start()
    experiment = cluster.create(noisy, "--config", "searcher.max_length.batches=100000")
    trial = cluster.trial_of(experiment)["id"]
    paths = [
        "experiments?limit=50",
        f"experiments/{experiment}",
        f"experiments/{experiment}/trials",
        f"trials/metrics/trial_metrics?trialIds={trial}",
        f"trials/{trial}/metrics/follow",
        f"trials/{trial}/logs?follow=true",
    ]
    end = time.monotonic() + 6

    def leave(seed):
        chance = random.Random(seed)
        while time.monotonic() < end:
            request = (
                f"GET /api/v1/{chance.choice(paths)} HTTP/1.1\r\n"
                f"Host: 127.0.0.1\r\nAuthorization: Bearer {cluster.token}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", cluster.port)) as connection:
                connection.sendall(request.encode())
                time.sleep(chance.uniform(0, 0.012))
                # Closing resets the connection: the master notices at once.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    threads = [threading.Thread(target=leave, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cluster.master.process.poll() is None, cluster.master.output()[-2000:]
    assert cluster.experiment(experiment)["state"] in ("STATE_RUNNING", "STATE_STARTING")
