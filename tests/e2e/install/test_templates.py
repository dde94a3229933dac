"""`det init`: each of its projects trains as it is."""

import re

import pytest
from cxx import needs_det_trial, running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, compiled):
    with running(tmp_path_factory.mktemp("templates"), compiled, options=("--slots", "2")) as it:
        yield it


@pytest.mark.parametrize("template", ["pytorch", "core", "keras", pytest.param("cxx", marks=needs_det_trial)])
def test_each_template_trains(cluster, tmp_path, template):
    said = cluster.run("init", "project", "--template", template, directory=tmp_path)
    assert "det experiment create -f project/const.yaml project" in said
    said = cluster.run("experiment", "create", "project/const.yaml", "project", directory=tmp_path)
    id = int(re.search(r"Created experiment (\d+)", said)[1])
    cluster.wait_for_state(id, "COMPLETED", seconds=300)
    trial = cluster.trial_of(id)
    first, *_, last = [metrics for _, metrics in cluster.metrics(trial["id"], "training")]
    assert last["avg_metrics"]["loss"] < first["avg_metrics"]["loss"] / 2
    search = cluster.run("preview-search", "project/search.yaml", directory=tmp_path)
    assert "trials" in search.lower()


def test_nothing_is_overwritten(cluster, tmp_path):
    cluster.run("init", directory=tmp_path)
    (tmp_path / "model_def.py").write_text("mine")
    said = cluster.run("init", "--template", "core", directory=tmp_path, code=1)
    assert "const.yaml" in said and "would be overwritten" in said
    assert (tmp_path / "model_def.py").read_text() == "mine"
    assert not (tmp_path / "train.py").exists()
