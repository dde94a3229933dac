"""The manifests and the guide page for Kubernetes are what they say."""

import copy
import re

import kubernetes_validate
import pytest
from cluster import REPOSITORY
from guide import script_of
from real_kubernetes import RealKubernetes, manifests, missing

OLDEST, NEWEST = "1.30", kubernetes_validate.latest_version()


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_the_manifests_follow_the_schemas_of_kubernetes(version):
    for manifest in manifests():
        kubernetes_validate.validate(manifest, version, strict=True)
    wrong = copy.deepcopy(next(each for each in manifests() if each["kind"] == "Deployment"))
    wrong["spec"]["template"]["spec"]["serviceAcountName"] = "a"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_an_api_server_takes_the_manifests(tmp_path):
    if why := missing():
        pytest.skip(why)
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    groups = {"Deployment": "/apis/apps/v1", "Role": rbac, "RoleBinding": rbac}
    with RealKubernetes(tmp_path, nodes=0) as kubernetes:
        for manifest in manifests():
            kind = manifest["kind"]
            path = f"{groups.get(kind, '/api/v1')}/namespaces/kube-public/{kind.lower()}s"
            made = kubernetes.call("POST", f"{path}?fieldValidation=Strict", manifest)
            assert made["metadata"]["uid"]


def test_every_manifest_has_a_kind_a_name_and_what_it_refers_to():
    found = {(each["kind"], each["metadata"]["name"]): each for each in manifests()}
    assert all(each["apiVersion"] for each in found.values())
    pod = found["Deployment", "determined-master"]["spec"]["template"]
    assert pod["metadata"]["labels"] == found["Service", "determined-master"]["spec"]["selector"]
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert {mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]} == set(volumes)
    for volume in volumes.values():
        if claim := volume.get("persistentVolumeClaim"):
            assert ("PersistentVolumeClaim", claim["claimName"]) in found
    assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in found


def test_a_master_accepts_the_configurations_of_the_manifests_and_of_the_page(tmp_path, start):
    config = next(each for each in manifests() if each["kind"] == "ConfigMap")["data"]["master.yaml"]
    page = (REPOSITORY / "docs" / "guide" / "kubernetes.md").read_text()
    script = re.search(r"<<'END OF THE FILE'\n(.*)\nEND OF THE FILE", script_of(page), re.DOTALL).group(1)
    for number, text in enumerate((config, script)):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text.replace("/etc/det/kubeconfig", "/no/such/kubeconfig"))
        # The settings are right, and no API server is here.
        with pytest.raises(AssertionError, match=r"no such file|the master does not run in a pod"):
            start(apart=True, options=["--config-file", str(file)])
