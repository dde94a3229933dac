"""What somebody who knows release 0.38.1 tries first, with its own programs."""

import subprocess

from driven import HERE, Client


def test_the_script_of_a_newcomer_runs_unchanged(cluster, original_client, tmp_path):
    client = Client(original_client, cluster.url, tmp_path / "work", cluster.environment)
    client.end()  # the environment and the directory are what is needed
    done = subprocess.run(
        ["bash", str(HERE / "newcomer.sh")],
        cwd=client.directory,
        env=client.environment | {"DET_USER": "determined", "DET_PASS": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("everything was there\n")
