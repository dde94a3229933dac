"""Reading from Google Cloud Storage with Google's own client, from a server that speaks its object API and fails."""

from __future__ import annotations

import http.server
import pathlib
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from determined.exec import _requirements

PYTHON = pathlib.Path(__file__).parents[2]
CONTENT = bytes(range(256)) * 8
PROGRAM = """
import random, sys
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from determined.util import download_gcs_blob_with_backoff

client = storage.Client("project", AnonymousCredentials(), client_options={"api_endpoint": sys.argv[1]})
blob = client.bucket("pictures").blob("train/one.jpg")
before = random.getstate()
content = download_gcs_blob_with_backoff(blob, n_retries=int(sys.argv[2]))
assert random.getstate() == before
print(content.hex())
"""


class Bucket:
    """Answers requests for objects with these statuses, one after the other, and then with the content."""

    def __init__(self, failures: list[int]) -> None:
        self.failures = failures
        self.asked: list[tuple[str, float]] = []
        handler = type("Handler", (_Handler,), {"bucket": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    bucket: Bucket

    def do_GET(self) -> None:
        self.bucket.asked.append((self.path, time.monotonic()))
        status = self.bucket.failures.pop(0) if self.bucket.failures else 200
        content = CONTENT if status == 200 else b'{"error": {"message": "not now"}}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def read() -> Iterator[object]:
    layer = _requirements.Layer("Google's client", ("google-cloud-storage==2.19.0",), PYTHON)
    home = _requirements.place(layer)
    _requirements.build(home, layer)
    buckets = []

    def run(failures: list[int], tries: int) -> tuple[Bucket, subprocess.CompletedProcess[str]]:
        buckets.append(Bucket(failures))
        command = [str(home / "bin" / "python"), "-c", PROGRAM, buckets[-1].url, str(tries)]
        return buckets[-1], subprocess.run(command, cwd=PYTHON, capture_output=True, text=True, timeout=120)

    yield run
    for bucket in buckets:
        bucket.close()


def test_a_blob_comes_through_a_server_that_fails_at_first(read: object) -> None:
    assert callable(read)
    bucket, ended = read([404, 404, 429, 503], 8)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert bytes.fromhex(ended.stdout.strip()) == CONTENT
    assert len(bucket.asked) == 5 and all("/b/pictures/o/train%2Fone.jpg" in path for path, _ in bucket.asked)
    at = [moment for _, moment in bucket.asked]
    assert at[1] - at[0] >= 1 and at[2] - at[1] >= 2  # the pauses grow


def test_a_blob_that_never_arrives_raises_the_servers_error(read: object) -> None:
    assert callable(read)
    bucket, ended = read([404] * 5, 2)
    assert ended.returncode != 0 and "NotFound: 404" in ended.stderr
    assert len(bucket.asked) == 2
