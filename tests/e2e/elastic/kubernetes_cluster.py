"""The API server of fabric8's kubernetes-server-mock, and in the place of kubelets a thread that runs the pods.

    with KubernetesCluster(nodes=2) as kubernetes:
        kubernetes.call("GET", "/api/v1/pods")

A pod is a process tree of the test, as reaper.py keeps it; a node has room for one pod. What the thread writes into the
status of pods are the words of a real cluster. It reads what the pod's spec says of commands, environments and secrets.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from cluster import wait_until
from ports import free_ports
from reaped import end_reaped, start_reaped

HERE = pathlib.Path(__file__).parent / "kubernetes"
MERGE = "application/merge-patch+json"


def unavailable():
    """Why there can be no API server here; empty: there can."""
    missing = [name for name in ("mvn", "javac", "java") if not shutil.which(name)]
    return f"needs {', '.join(missing)}" if missing else ""


class KubernetesCluster:
    def __init__(self, root, nodes=2):
        self.root, self.nodes = root, nodes
        self.running = {}  # by name of the pod: its process
        self.leaving = {}  # by name of the pod that was deleted: its process, and when it is killed
        self.ended = threading.Event()
        self.broken_images = set()

    def __enter__(self):
        path = self._class_path()
        subprocess.run(["javac", "-d", self.root, "-cp", path, HERE / "ApiServer.java"], check=True)
        (self.port,) = free_ports(1)
        with open(self.root / "server.log", "wb") as log:
            self.server = subprocess.Popen(
                ["java", "-cp", f"{path}:{self.root}", "ApiServer", str(self.port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: "ready" in (self.root / "server.log").read_text(), "the API server")
        self._follow_pods()
        return self

    def __exit__(self, *_):
        self._end_pods()
        self.server.stdin.close()
        self.server.wait()

    def _follow_pods(self):
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _end_pods(self):
        self.ended.set()
        self.thread.join()
        for process in [*self.running.values(), *(process for process, _ in self.leaving.values())]:
            end_reaped(process)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def provider(self):
        """The settings of a pool by which a master reaches it."""
        return {"address": self.address}

    @property
    def kubectl(self):
        return ["kubectl", "--server", self.address]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, data=body and json.dumps(body).encode())
        if body:
            request.add_header("Content-Type", MERGE if method == "PATCH" else "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def pods(self):
        return self.call("GET", "/api/v1/namespaces/default/pods")["items"]

    def secrets(self):
        return self.call("GET", "/api/v1/namespaces/default/secrets")["items"]

    def lose_node_of(self, name):
        """Its machine is gone: the pod is killed, and the cluster says so."""
        process = self.running.pop(name)
        process.stdin.close()
        process.wait()
        self._status(name, phase="Failed", reason="NodeLost", message="Node of the pod is not ready.")

    def bring_back_nodes(self):
        """Those that were lost are there again."""

    def _class_path(self):
        where = self.root / "class_path"
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
        words = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", plugin, f"-Dmdep.outputFile={where}"]
        subprocess.run(words, check=True, timeout=300, stdout=subprocess.DEVNULL)
        return where.read_text().strip()

    def _run(self):
        while not self.ended.wait(0.1):
            pods = {pod["metadata"]["name"]: pod for pod in self.pods()}
            for name, pod in pods.items():
                phase = pod.get("status", {}).get("phase", "Pending")
                if name in self.running:
                    self._look_after(name)
                elif phase == "Pending":
                    self._try(name, pod)
            for name in set(self.running) - set(pods):
                self._stop(name)
            self._forget()

    def _try(self, name, pod):
        image = pod["spec"]["containers"][0]["image"]
        if len(self.running) + len(self.leaving) >= self.nodes:
            message = f"0/{self.nodes} nodes are available: {self.nodes} Insufficient cpu."
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            self._status(name, phase="Pending", conditions=[condition])
        elif image in self.broken_images:
            waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
            self._status(name, phase="Pending", containerStatuses=[{"name": "agent", "state": {"waiting": waiting}}])
        else:
            self._start(name, pod)

    def _start(self, name, pod):
        container = pod["spec"]["containers"][0]
        environment = {"PATH": os.environ["PATH"], "HOSTNAME": name}
        for variable in container["env"]:
            value = variable.get("value")
            if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                secret = self.call("GET", f"/api/v1/namespaces/default/secrets/{reference['name']}")
                value = base64.b64decode(secret["data"][reference["key"]]).decode()
            environment[variable["name"]] = value
        log = self.root / f"{name}.log"
        self.running[name] = start_reaped(container["command"], log, "wb", env=environment, cwd="/")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._status(name, phase="Running", startTime=now, conditions=None, containerStatuses=None)

    def _look_after(self, name):
        code = self.running[name].poll()
        if code is None:
            return
        del self.running[name]
        last = (self.root / f"{name}.log").read_text(errors="replace").strip().rpartition("\n")[2]
        state = {"exitCode": code, "reason": "Error" if code else "Completed", "message": last if code else ""}
        statuses = [{"name": "agent", "state": {"terminated": state}}]
        self._status(name, phase="Failed" if code else "Succeeded", containerStatuses=statuses)

    def _stop(self, name):
        process = self.running.pop(name)
        for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGTERM)
        self.leaving[name] = process, time.monotonic() + 20

    def _forget(self):
        for name, (process, end) in list(self.leaving.items()):
            if time.monotonic() > end:
                process.stdin.close()
            if process.poll() is not None:
                del self.leaving[name]

    def _status(self, name, **status):
        with contextlib.suppress(urllib.error.HTTPError):  # it was deleted meanwhile
            self.call("PATCH", f"/api/v1/namespaces/default/pods/{name}", {"status": status})
