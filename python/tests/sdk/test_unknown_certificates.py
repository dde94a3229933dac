"""Whom a client believes over TLS: a certificate that nobody vouches for is refused unless the user says otherwise."""

from __future__ import annotations

import http.server
import pathlib
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator

import pytest

from determined.common.api import errors
from determined.common.api._session import Session


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A key and a certificate for localhost that it signed itself, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is not here to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run(
        ["openssl", *words, "-keyout", folder / "key.pem", "-out", folder / "only.pem"], check=True, capture_output=True
    )
    both = folder / "both.pem"
    both.write_text((folder / "key.pem").read_text() + (folder / "only.pem").read_text())
    return both


@pytest.fixture
def port(certificate: pathlib.Path) -> Iterator[int]:
    """Of a master that only answers, over TLS."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_vouches_for_is_refused_by_default(
    port: int, certificate: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DET_MASTER_CERT_FILE", raising=False)
    monkeypatch.setenv("DET_USER_TOKEN", "t")
    url = f"https://localhost:{port}"
    with pytest.raises(errors.MasterNotFoundException, match=r"(?i)certificate"):
        Session(url, "ada", "").get("/api/v1/master")
    believed = certificate.parent / "only.pem"
    assert Session(url, cert_path=str(believed)).get("/api/v1/master") == {}
    assert Session(url, noverify=True).get("/api/v1/master") == {}
    with pytest.raises(errors.MasterNotFoundException, match=r"(?i)certificate"):
        Session(f"https://127.0.0.1:{port}", cert_path=str(believed)).get("/api/v1/master")
