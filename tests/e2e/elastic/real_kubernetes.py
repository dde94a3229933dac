"""Kubernetes' own API server, scheduler and controllers over etcd; a thread runs pods as processes.

    python tests/e2e/elastic/real_kubernetes.py     builds them from their Go modules: 8 minutes on two processors

Tests use them where they were built, and where Debian's package etcd-server is. A node has two CPUs, so that the
scheduler puts one pod on it. Access is by RBAC: `provider` has the rights of the Role in deploy/kubernetes alone.
"""

import contextlib
import datetime
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import yaml
from cluster import REPOSITORY, wait_until
from kubernetes_cluster import HERE, MERGE, KubernetesCluster
from ports import free_ports
from reaped import end_reaped, start_reaped

PROGRAM = pathlib.Path("~/.cache/det/kubernetes-1.34.4/control_plane").expanduser()
CONTROLLERS = (
    "garbage-collector-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "serviceaccount-controller",
    "taint-eviction-controller",
)
SILENCE = 10  # seconds after which a node that says nothing counts as lost


def missing():
    """Why there can be no control plane here; empty: there can."""
    if not shutil.which("etcd"):
        return "needs Debian's package etcd-server"
    return "" if PROGRAM.exists() else f"python {pathlib.Path(__file__).name} builds the control plane"


def manifests():
    text = (REPOSITORY / "deploy" / "kubernetes" / "master.yaml").read_text()
    return [found for found in yaml.safe_load_all(text) if found]


class RealKubernetes(KubernetesCluster):
    namespace = "default"

    def __enter__(self):
        self.port, etcd, peer = free_ports(3)
        self.daemons, self.lost, self.token = [], set(), "of-the-administrator"
        (self.root / "tokens.csv").write_text(f"{self.token},admin,1,system:masters\n")
        key = self.root / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        store = f"http://127.0.0.1:{etcd}"
        self._daemon(
            *("etcd", "--data-dir", self.root / "etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", store, "--advertise-client-urls", store),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
        )
        self._daemon(
            *(PROGRAM, "kube-apiserver", "--etcd-servers", store, "--cert-dir", self.root / "certificates"),
            *("--bind-address", "127.0.0.1", "--secure-port", self.port, "--service-cluster-ip-range", "10.0.0.0/24"),
            *("--authorization-mode", "RBAC", "--token-auth-file", self.root / "tokens.csv"),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-account-key-file", key, "--service-account-signing-key-file", key),
            *("--default-not-ready-toleration-seconds", 1, "--default-unreachable-toleration-seconds", 1),
        )
        wait_until(self._ready, "the API server", seconds=120)
        self.kubeconfig = self._write_kubeconfig("administrator", self.token)
        self._daemon(PROGRAM, "kube-scheduler", "--kubeconfig", self.kubeconfig, "--leader-elect=false")
        self._daemon(
            *(PROGRAM, "kube-controller-manager", "--kubeconfig", self.kubeconfig, "--leader-elect=false"),
            *("--controllers", ",".join(CONTROLLERS), "--service-account-private-key-file", key),
            *("--node-monitor-period", "1s", "--node-monitor-grace-period", f"{SILENCE}s"),
        )
        self.names = [f"node{number}" for number in range(1, self.nodes + 1)]
        for name in self.names:
            self.add_node(name)
        self._make_account()
        self._follow_pods()
        return self

    def __exit__(self, *_):
        self._end_pods()
        for process in reversed(self.daemons):
            end_reaped(process)

    @property
    def address(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def provider(self):
        return {"kubeconfig": str(self.account_config)}

    @property
    def kubectl(self):
        return ["kubectl", "--kubeconfig", self.kubeconfig]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, data=body and json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.token}")
        if body:
            request.add_header("Content-Type", MERGE if method == "PATCH" else "application/json")
        trust = ssl.create_default_context(cafile=self.root / "certificates" / "apiserver.crt")
        with urllib.request.urlopen(request, timeout=30, context=trust) as answer:
            return json.loads(answer.read() or b"null")

    def add_node(self, name):
        room = {"cpu": "2", "memory": "16Gi", "pods": "10"}
        status = {"capacity": room, "allocatable": room}
        self.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})
        self._say_alive(name)

    def lose_node_of(self, name):
        """Its machine is gone: no word of it comes any more, and nobody is told but by that silence."""
        node = self.call("GET", f"/api/v1/namespaces/default/pods/{name}")["spec"]["nodeName"]
        self.lost.add(node)
        process = self.running.pop(name)
        process.stdin.close()
        process.wait()

    def bring_back_nodes(self):
        self.lost.clear()

    def _ready(self):
        with contextlib.suppress(OSError, ssl.SSLError, ValueError):
            ready = urllib.request.Request(f"{self.address}/readyz", headers={"Authorization": f"Bearer {self.token}"})
            trust = ssl.create_default_context(cafile=self.root / "certificates" / "apiserver.crt")
            return urllib.request.urlopen(ready, timeout=5, context=trust).status == 200
        return False

    def _daemon(self, *words):
        name = pathlib.Path(words[0]).name if words[0] != PROGRAM else words[1]
        self.daemons.append(start_reaped([str(word) for word in words], self.root / f"{name}.log"))

    def _write_kubeconfig(self, user, token):
        file = self.root / f"{user}.kubeconfig"
        authority = str(self.root / "certificates" / "apiserver.crt")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.address, "certificate-authority": authority}}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": user, "namespace": self.namespace}}],
            "current-context": "x",
        }
        file.write_text(yaml.safe_dump(config))
        return file

    def _make_account(self):
        """The service account of the manifests, with the rights that they give to it."""
        for manifest in manifests():
            kind = manifest["kind"]
            if kind == "ServiceAccount":
                self.call("POST", "/api/v1/namespaces/default/serviceaccounts", manifest)
            elif kind in ("Role", "RoleBinding"):
                path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/{kind.lower()}s"
                self.call("POST", path, manifest)
        path = "/api/v1/namespaces/default/serviceaccounts/determined-master/token"
        wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.call("POST", path, wish)["status"]["token"]
        self.account_config = self._write_kubeconfig("determined-master", token)

    # What a kubelet does.

    def _run(self):
        told = 0.0
        while not self.ended.wait(0.2):
            alive = [name for name in self.names if name not in self.lost]
            if time.monotonic() > told + SILENCE / 5:
                told = time.monotonic()
                for name in alive:
                    self._say_alive(name)
            pods = {pod["metadata"]["name"]: pod for pod in self.pods() if pod["spec"].get("nodeName") in alive}
            for name, pod in pods.items():
                if "deletionTimestamp" in pod["metadata"]:
                    self._end(name)
                elif name in self.running:
                    self._look_after(name)
                elif pod["status"]["phase"] == "Pending":
                    self._try(name, pod)
            self._forget()

    def _try(self, name, pod):
        image = pod["spec"]["containers"][0]["image"]
        if image in self.broken_images:
            waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
            self._status(name, phase="Pending", containerStatuses=[{"name": "agent", "state": {"waiting": waiting}}])
        elif "determined-allotment" in pod["metadata"].get("labels", {}):
            self._start(name, pod)

    def _end(self, name):
        if name in self.running:
            self._stop(name)
        elif name not in self.leaving:
            with contextlib.suppress(urllib.error.HTTPError):
                at_once = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
                self.call("DELETE", f"/api/v1/namespaces/default/pods/{name}", at_once)

    def _say_alive(self, name):
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now[:19] + "Z"}
        self.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [ready]}})
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        lease = {"holderIdentity": name, "leaseDurationSeconds": SILENCE, "renewTime": now}
        try:
            self.call("PATCH", f"{leases}/{name}", {"spec": lease})
        except urllib.error.HTTPError:
            with contextlib.suppress(urllib.error.HTTPError):  # the namespace comes with the controllers
                self.call("POST", leases, {"metadata": {"name": name}, "spec": lease})

    def _status(self, name, **status):
        with contextlib.suppress(urllib.error.HTTPError):  # it was deleted meanwhile
            self.call("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status})


def build():
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    words = ["go", "build", "-mod=readonly", "-ldflags", "-s -w", "-o", PROGRAM, "."]
    subprocess.run(words, cwd=HERE / "control_plane", env=os.environ | {"GOTOOLCHAIN": "local"}, check=True)


if __name__ == "__main__":
    build()
