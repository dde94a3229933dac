"""A cluster over TLS: all that talks with its master does so encrypted, and believes nobody else."""

import hashlib
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest
from cluster import BINARY, HERE, PYTHON, REPOSITORY, Cluster, wait_until
from websocket_client import WebSocket


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Authority:
    """Signs certificates, in files of a directory."""

    def __init__(self, directory, name="authority"):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.file, self.key = directory / f"{name}.crt", directory / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 30,
                "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.file)  # fmt: skip

    def sign(self, name, alternatives="DNS:localhost,IP:127.0.0.1", days=30):
        """Files NAME.crt and NAME.key."""
        certificate, key = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        request, rules = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)  # fmt: skip
        rules.write_text(f"subjectAltName={alternatives}\n")
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-CAcreateserial",
                "-days", days, "-extfile", rules, "-out", certificate)  # fmt: skip
        key.chmod(0o600)
        return certificate, key

    @staticmethod
    def flags(pair):
        return ["--tls-cert", str(pair[0]), "--tls-key", str(pair[1])]


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, authority):
    it = Cluster(
        tmp_path_factory.mktemp("tls") / "cluster",
        apart=True,
        options=authority.flags(authority.sign("master")),
        trust=authority.file,
    ).start()
    it.get("me")
    yield it
    it.end()


def test_a_trial_trains_and_its_logs_are_followed(cluster):
    experiment = cluster.create(HERE / "models" / "noisy")
    trial = cluster.trial_of(experiment)["id"]
    assert "finished after batch 300" in cluster.run("trial", "logs", "-f", trial)
    cluster.wait_for_state(experiment, "COMPLETED")
    assert len(cluster.metrics(trial, "training")) >= 30
    text = cluster.run("experiment", "list", environment={"DET_MASTER_CERT_FILE": "noverify"})
    assert "noisy" in text


def test_a_task_is_told_how_to_reach_its_master_and_does(cluster, authority):
    program = (
        "import os; from determined.experimental import client; "
        "print('I AM', client.Determined()._session.get('/api/v1/me')['user']['username'])"
    )
    text = cluster.run("command", "run", "--config", "resources.slots=0", "python", "-c", program)
    assert "I AM determined" in text
    text = cluster.run("command", "run", "--config", "resources.slots=0", "env")
    pairs = dict(re.findall(r"INFO: (\w+)=(.*)", text))
    assert pairs["DET_MASTER"] == cluster.url and pairs["DET_USE_TLS"] == "true"
    assert pairs["DET_MASTER_CERT_FILE"] == str(authority.file)


def test_a_shell_is_reached_through_the_proxy(cluster):
    shell = cluster.get("shells", "POST", {"config": {"resources": {"slots": 0}}})["shell"]["id"]
    headers = {"Authorization": f"Bearer {cluster.token}"}

    def opened():
        link = WebSocket(cluster.url, f"/proxy/{shell}/terminal", headers, cluster.context)
        if link.status == 101:
            return link
        link.close()
        return None

    link = wait_until(opened, "the shell's WebSocket", pause=0.3)
    link.send({"columns": 80, "rows": 24, "tty": False, "command": "echo through; seq 1 100000 | md5sum"})
    said = b""
    while (message := link.receive()) is not None:
        if isinstance(message, bytes):
            said += message[1:]
        elif "exit" in message:
            break
    link.close()
    numbers = "".join(f"{number}\n" for number in range(1, 100_001))
    assert b"through" in said and hashlib.md5(numbers.encode()).hexdigest().encode() in said
    much = subprocess.run([BINARY, "-m", cluster.url, "shell", "open", shell], input=b"cat\n" + b"x" * 3_000_000,
                          capture_output=True, env=cluster.environment, timeout=60)  # fmt: skip
    assert (much.returncode, len(much.stdout)) == (0, 3_000_000), much.stderr
    cluster.get(f"shells/{shell}/kill", "POST", {})


def test_cookies_are_for_encrypted_connections_only(cluster):
    link = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=cluster.context)
    link.request("POST", "/api/v1/auth/login", '{"username": "determined", "password": ""}')
    reply = link.getresponse()
    assert "; Secure" in reply.headers["Set-Cookie"]
    # A name for all ports of a host: other services there may have no TLS.
    assert reply.headers["Strict-Transport-Security"] is None
    link.close()


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated")
def test_old_versions_of_tls_are_refused(cluster):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", cluster.port)) as link:
        context.wrap_socket(link)


def test_a_client_without_tls_is_told_what_to_do(cluster):
    link = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=20)
    link.request("GET", "/info")
    reply = link.getresponse()
    assert reply.status == 400 and b"use https:// instead of http://" in reply.read()
    text = cluster.run("experiment", "list", environment={"DET_MASTER": f"http://127.0.0.1:{cluster.port}"},
                       master=False, code=1)  # fmt: skip
    assert "use https:// instead of http://" in text


def test_clients_say_whom_they_do_not_trust(cluster, tmp_path):
    other = Authority(tmp_path, "other")
    wrong = {"DET_MASTER_CERT_FILE": str(other.file)}
    text = cluster.run("experiment", "list", environment=wrong, code=1)
    assert "is not trusted" in text and "DET_MASTER_CERT_FILE" in text
    text = cluster.run("experiment", "list", environment={"DET_MASTER_CERT_NAME": "elsewhere"}, code=1)
    assert "not valid for elsewhere" in text
    text = cluster.run("experiment", "list", environment={"DET_MASTER_CERT_FILE": "/nowhere.crt"}, code=1)
    assert "/nowhere.crt cannot be read" in text
    token = tmp_path / "token"
    token.write_text("x")
    agent = subprocess.run(
        [BINARY, "agent", "--master", cluster.url, "--token-file", str(token), "--dir", str(tmp_path / "agent")],
        env=cluster.environment | {"DET_MASTER_CERT_FILE": "/nowhere.crt"}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert agent.returncode == 1 and "/nowhere.crt cannot be read" in agent.stdout + agent.stderr
    program = "from determined.experimental import client; client.Determined(master={!r}).get_experiments()"
    done = subprocess.run(
        [PYTHON, "-c", program.format(cluster.url)],
        env=cluster.environment | wrong | {"PYTHONPATH": str(REPOSITORY / "python")}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert "set DET_MASTER_CERT_FILE to a file" in done.stderr, done.stderr


def test_a_client_refuses_an_expired_certificate(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.sign("expired", days=-1))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            link, _ = server.accept()
            with link, pytest.raises(ssl.SSLError):
                context.wrap_socket(link, server_side=True)

        thread = threading.Thread(target=serve)
        thread.start()
        done = subprocess.run(
            [BINARY, "-m", f"https://127.0.0.1:{server.getsockname()[1]}", "experiment", "list"],
            env=os.environ | {"DET_MASTER_CERT_FILE": str(authority.file)}, capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip
        thread.join()
    assert done.returncode == 1 and "expired" in done.stderr and "renew it" in done.stderr


def test_a_master_refuses_certificates_that_are_no_good(authority, tmp_path):
    def refused(*flags):
        done = subprocess.run(
            [BINARY, "master", "--dir", str(tmp_path / "m"), "--port", "0", *map(str, flags)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        return done.stderr

    good, other = authority.sign("good"), authority.sign("other")
    assert "TLS cert file provided without a key file" in refused("--tls-cert", good[0])
    assert "TLS key file provided without a cert file" in refused("--tls-key", good[1])
    assert "does not belong to" in refused("--tls-cert", good[0], "--tls-key", other[1])
    assert "expired on" in refused(*authority.flags(authority.sign("late", days=-1)))
    other[1].chmod(0o644)
    assert "can be read by every user" in refused(*authority.flags(other))


def served_certificate(port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as link, context.wrap_socket(link) as tls:
        return tls.getpeercert(binary_form=True)


def test_det_up_trusts_its_own_certificate_and_renews_it_while_it_runs(start, authority, tmp_path):
    files = Authority(tmp_path / "files", "self")
    pair = files.sign("up", alternatives="DNS:det.example.com")
    configuration = tmp_path / "master.yaml"
    configuration.write_text(f"security:\n  tls:\n    cert: {pair[0]}\n    key: {pair[1]}\n")
    # Neither the address nor the authority is known to anybody but through the files.
    cluster = start(options=["--config-file", str(configuration)], trust=files.file)
    cluster.context.check_hostname = False
    cluster.environment["DET_MASTER_CERT_NAME"] = "det.example.com"
    assert f"https://det.example.com:{cluster.port}/det/" in cluster.master.output()
    experiment = cluster.create(HERE / "models" / "noisy")
    first = served_certificate(cluster.port)
    link = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=cluster.context)
    link.request("GET", "/info")
    link.getresponse().read()

    pair[1].write_text("broken")
    cluster.master.process.send_signal(signal.SIGHUP)
    cluster.master.wait_for("cannot reload the TLS certificate.*private key")
    assert served_certificate(cluster.port) == first
    files.sign("up", alternatives="DNS:det.example.com")
    cluster.master.process.send_signal(signal.SIGHUP)
    cluster.master.wait_for("reloaded the TLS certificate")
    assert served_certificate(cluster.port) != first
    link.request("GET", "/info")
    assert link.getresponse().status == 200, "a connection from before goes on"
    link.close()
    cluster.wait_for_state(experiment, "COMPLETED")
    assert "finished after batch 300" in cluster.log_text(experiment)


def test_a_slow_or_silent_client_holds_nobody_up(cluster):
    silent = [socket.create_connection(("127.0.0.1", cluster.port)) for _ in range(600)]
    started = time.monotonic()
    cluster.get("me")
    assert time.monotonic() - started < 5
    for link in silent:
        link.close()
