"""The manifests and the guide page for Kubernetes are what they say."""

import re

import pytest
import yaml
from cluster import REPOSITORY
from guide import script_of

FOLDER = REPOSITORY / "deploy" / "kubernetes"


def manifests():
    return [found for found in yaml.safe_load_all((FOLDER / "master.yaml").read_text()) if found]


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
