"""Connections to a master over TLS: whom they believe, and what they say when they do not."""

import http.server
import pathlib
import ssl
import subprocess
import threading

import pytest

from determined.common.api import errors
from determined.common.api._session import Session
from determined.common.api._tls import Trust, trust_of
from determined.core._connection import Master


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"ok": true}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("tls")
    for name, alternatives in (("mine", "DNS:master.example.com"), ("other", "IP:127.0.0.1")):
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
                *("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternatives}"),
                *("-keyout", f"{directory}/{name}.key", "-out", f"{directory}/{name}.crt"),
            ],
            check=True,
            capture_output=True,
        )
    return directory


@pytest.fixture
def url(files: pathlib.Path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files / "mine.crt", files / "mine.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DET_USER_TOKEN", "token")


def test_a_certificate_is_believed_by_argument_or_environment(url, files, monkeypatch):
    name = "master.example.com"
    assert Session(url, cert_path=str(files / "mine.crt"), cert_name=name).get("/x") == {"ok": True}
    assert Session(url, noverify=True).get("/x") == {"ok": True}
    monkeypatch.setenv("DET_MASTER_CERT_FILE", str(files / "mine.crt"))
    monkeypatch.setenv("DET_MASTER_CERT_NAME", name)
    assert Session(url).get("/x") == {"ok": True}
    assert Master(url, "token").get("/x") == {"ok": True}
    monkeypatch.setenv("DET_MASTER_CERT_FILE", "noverify")
    assert Master(url, "token").get("/x") == {"ok": True}


def test_an_untrusted_master_gets_no_request_and_the_error_says_what_to_do(url, files):
    with pytest.raises(errors.MasterNotFoundException, match="set DET_MASTER_CERT_FILE to a file"):
        Session(url).get("/x")
    with pytest.raises(errors.MasterNotFoundException, match="set DET_MASTER_CERT_FILE to a file"):
        Session(url, cert_path=str(files / "other.crt"), cert_name="master.example.com").get("/x")
    with pytest.raises(errors.MasterNotFoundException, match="DET_MASTER_CERT_NAME"):
        Session(url, cert_path=str(files / "mine.crt")).get("/x")
    with pytest.raises(ConnectionAbortedError, match="DET_MASTER_CERT_FILE"):
        Master(url, "token", patience=0, trust=Trust(str(files / "other.crt"))).get("/x")


def test_a_server_without_tls_and_a_file_without_certificates_are_named(files):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(errors.MasterNotFoundException, match="use http:// instead of https://"):
        Session(f"https://127.0.0.1:{server.server_port}").get("/x")
    server.shutdown()
    server.server_close()
    (files / "text.crt").write_text("nothing")
    with pytest.raises(ValueError, match=r"text.crt cannot be used"):
        Session("https://127.0.0.1:1", cert_path=str(files / "text.crt"))
    assert trust_of("http://127.0.0.1") is None
