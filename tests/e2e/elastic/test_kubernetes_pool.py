"""Trials on pods: against a third party's server of the Kubernetes API (kubernetes_cluster.py), and against the control
plane of Kubernetes itself where it was built (real_kubernetes.py).
"""

import contextlib
import json
import shutil
import subprocess

import kubernetes_validate
import pytest
from cluster import BINARY, wait_until
from engine_pool import NOISY, RANKS, SLOW, EngineCluster


class KubernetesPool(EngineCluster):
    def __init__(self, directory, kubernetes, **provider):
        where = {} if "address" in provider else kubernetes.provider
        settings = {"type": "kubernetes", "image": "example/det", "program": BINARY} | where
        super().__init__(directory, **(settings | provider))
        self.kubernetes = kubernetes

    def pods(self):
        label = f"det-{self.get('master')['clusterId'][:8]}"
        return [p for p in self.kubernetes.pods() if p["metadata"]["labels"]["determined-cluster"] == label]


@contextlib.contextmanager
def cluster_of(kubernetes, directory, **provider):
    cluster = KubernetesPool(directory, kubernetes, **provider).start()
    try:
        yield cluster
    finally:
        print(cluster.shown())
        for pod in cluster.pods():
            kubernetes.call("DELETE", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}")
        cluster.end()


@pytest.fixture(scope="module")
def cluster(kubernetes, tmp_path_factory):
    with cluster_of(kubernetes, tmp_path_factory.mktemp("pool")) as one:
        yield one


def test_a_pod_comes_for_a_trial_and_is_deleted_when_it_is_idle(cluster, kubernetes, undisturbed):
    assert undisturbed["batches"] == 300
    cluster.wait_for_no_allotment()
    wait_until(lambda: not kubernetes.running and not kubernetes.leaving, "no pod that runs")
    cluster.wait_for_no_process()


def test_the_token_is_in_a_secret_that_belongs_to_the_pod(cluster, kubernetes):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_state(id, "RUNNING")
    (running,) = [pod for pod in cluster.pods() if pod["status"]["phase"] == "Running"]
    pod = kubernetes.call("GET", f"/api/v1/namespaces/default/pods/{running['metadata']['name']}")  # with its kind
    kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
    assert "det_pilot_" not in json.dumps(pod)
    assert pod["spec"]["restartPolicy"] == "Never"
    name = pod["metadata"]["labels"]["determined-allotment"]
    (secret,) = [secret for secret in kubernetes.secrets() if secret["metadata"]["name"] == name]
    assert [owner["name"] for owner in secret["metadata"]["ownerReferences"]] == [pod["metadata"]["name"]]
    cluster.wait_for_state(id, "COMPLETED")


def test_a_gang_of_two_pods_trains_as_one_trial(cluster):
    id = cluster.create(RANKS, "--config", "resources.slots_per_trial=4", "--config", "hyperparameters.hold=never")
    cluster.wait_for_state(id, "COMPLETED")
    cluster.wait_for_no_allotment()


@pytest.mark.parametrize("loss", ["deleted", "node"])
def test_a_trial_whose_pod_is_lost_ends_with_the_same_bits(cluster, kubernetes, undisturbed, loss):
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_checkpoint(id)
    (name,) = kubernetes.running
    if loss == "deleted":
        kubernetes.call("DELETE", f"/api/v1/namespaces/default/pods/{name}")
    else:
        kubernetes.lose_node_of(name)
    cluster.wait_for_state(id, "COMPLETED")
    assert cluster.result(id) == undisturbed
    assert cluster.trial_of(id)["restarts"] == 0
    kubernetes.bring_back_nodes()
    cluster.wait_for_no_allotment()
    cluster.wait_for_no_process()


def test_the_clusters_words_reach_whoever_waits(cluster, kubernetes, tmp_path):
    kubernetes.broken_images.add("nope")
    with cluster_of(kubernetes, tmp_path, image="nope") as other:
        id = other.create(NOISY)
        other.wait_for_reason(id, r"pod det-\w+-1-0 is pending: ImagePullBackOff: Back-off pulling image \"nope\"")
        other.run("experiment", "kill", id)
        other.wait_for_no_allotment()
        assert other.pods() == []


def test_a_gang_that_cannot_get_all_its_pods_gives_them_back(kubernetes, tmp_path):
    with cluster_of(kubernetes, tmp_path, max_nodes=3, start_timeout="3s") as cluster:
        id = cluster.create(RANKS, "--config", "resources.slots_per_trial=6", "--config", "hyperparameters.hold=never")
        cluster.wait_for_reason(
            id, r"the last request failed: 2 of its 3 pods run after 3 s; .*Unschedulable: 0/2 nodes"
        )
        wait_until(lambda: not kubernetes.running, "all pods given back")


def test_a_program_that_is_not_in_the_image_is_said(kubernetes, tmp_path):
    with cluster_of(kubernetes, tmp_path, program="/no/such/det") as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, r"failed: pod .* ended: Error \(exit status 12[67]\): .*/no/such/det: No such file")


def test_an_api_server_that_does_not_answer_is_said_and_trials_wait(kubernetes, tmp_path):
    with cluster_of(kubernetes, tmp_path, address="http://127.0.0.1:9") as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_reason(id, "Kubernetes does not answer: .*127.0.0.1:9")
        cluster.kubernetes = kubernetes


def test_kubectl_sees_the_pods(cluster, kubernetes):
    if not shutil.which("kubectl"):
        pytest.skip("needs kubectl")
    id = cluster.create(NOISY, *SLOW)
    cluster.wait_for_state(id, "RUNNING")
    words = [*kubernetes.kubectl, "get", "--raw", "/api/v1/namespaces/default/pods"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    assert {pod["metadata"]["name"] for pod in json.loads(said)["items"]} >= set(kubernetes.running)
    cluster.wait_for_state(id, "COMPLETED")
