"""Servers that speak the object APIs: moto's S3, which checks signatures as AWS does, and an emulator of GCS."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

BUCKET = "models"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _served(command: list[str], url: str, **variables: str) -> Iterator[None]:
    server = subprocess.Popen(
        command,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            assert server.poll() is None, f"{command} ended with {server.returncode}"
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url, timeout=5).close()
                break
            assert time.monotonic() < deadline, f"{command} does not answer"
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


def _ask(url: str, **form: str) -> str:
    """An unsigned call of AWS's query API, of which the server takes so many before it asks for signatures."""
    scope = "Credential=x/20260101/us-east-1/iam/aws4_request"
    headers = {"Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=h, Signature=0"}
    request = urllib.request.Request(url, urllib.parse.urlencode({**form, "Version": "2010-05-08"}).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


@contextlib.contextmanager
def s3() -> Iterator[dict[str, Any]]:
    """A section of the type s3, with a user's keys; the server refuses other signatures."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _served(command, url + "/moto-api/", INITIAL_NO_AUTH_ACTION_COUNT="4"):
        _ask(url, Action="CreateUser", UserName="trainer")
        keys = _ask(url, Action="CreateAccessKey", UserName="trainer")
        rule = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        _ask(url, Action="PutUserPolicy", UserName="trainer", PolicyName="all", PolicyDocument=json.dumps(rule))
        create = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
        urllib.request.urlopen(create, timeout=60).close()

        def member(name: str) -> str:
            found = re.search(f"<{name}>(.*?)</{name}>", keys)
            assert found is not None, keys
            return found.group(1)

        yield {
            "type": "s3",
            "bucket": BUCKET,
            "endpoint_url": url,
            "access_key": member("AccessKeyId"),
            "secret_key": member("SecretAccessKey"),
        }


@contextlib.contextmanager
def gcs() -> Iterator[dict[str, Any]]:
    """A section of the type gcs; the emulator is found by STORAGE_EMULATOR_HOST, as by Google's libraries."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    code = "import sys; from gcp_storage_emulator.__main__ import main; main(sys.argv[1:])"
    arguments = ["start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", BUCKET]
    with _served([sys.executable, "-c", code, *arguments], url + "/storage/v1/b"):
        before = os.environ.get("STORAGE_EMULATOR_HOST")
        os.environ["STORAGE_EMULATOR_HOST"] = url
        try:
            yield {"type": "gcs", "bucket": BUCKET}
        finally:
            if before is None:
                del os.environ["STORAGE_EMULATOR_HOST"]
            else:
                os.environ["STORAGE_EMULATOR_HOST"] = before


class Relay:
    """Passes connections on to a server, and counts the bytes that clients send."""

    def __init__(self, url: str) -> None:
        self.sent = 0
        self._target = urllib.parse.urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((self._target.hostname, self._target.port))
                threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.sent += len(data) if counts else 0
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


SERVERS = {"s3": s3, "gcs": gcs}
