"""The examples in C++ do what their README says, for fewer batches."""

import re
import shlex

import pytest
from cluster import REPOSITORY
from cxx import needs_det_trial, running
from images import few_images

EXAMPLES = REPOSITORY / "examples"
SHORTER = {
    "cartpole_cpp": ["searcher.max_length.batches=20"],
    "lstm_cpp": ["searcher.max_length.batches=20", "scheduling_unit=10"],
    "mnist_pytorch_cpp": ["searcher.max_length.batches=16", "scheduling_unit=8"],
    "resnet_cpp": ["searcher.max_length.batches=2", "scheduling_unit=1", "data.records=64"],
}
SEARCHES = {"asha.yaml", "random.yaml"}

pytestmark = needs_det_trial


def commands():
    """(example, words after `det`) of every experiment that a README creates on a cluster."""
    for example in sorted(SHORTER):
        text = (EXAMPLES / example / "README.md").read_text()
        for line in re.findall(r"^    det (experiment create [^#\n]*)", text, re.MULTILINE):
            words = shlex.split(line)
            if "--local" not in words:
                yield pytest.param(example, words, id=f"{example} {words[2]}")


def test_every_example_in_c_plus_plus_is_run_by_its_readme():
    found = {path.parent.name for path in EXAMPLES.glob("*/model_def.cpp")}
    assert found == set(SHORTER) == {parameters.values[0] for parameters in commands()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, compiled):
    with running(tmp_path_factory.mktemp("examples"), compiled, options=["--slots", "2"]) as found:
        yield found


@pytest.mark.parametrize(("example", "words"), list(commands()))
def test_the_command_of_the_readme_trains(cluster, example, words):
    trials = 3 if words[2] in SEARCHES else 1
    values = SHORTER[example] + ([f"searcher.max_trials={trials}"] if trials > 1 else [])
    shorter = [word for value in values for word in ("--config", value)]
    shorter += few_images() if "mnist" in example else []
    text = cluster.run(*words, *shorter, directory=EXAMPLES / example)
    id = int(re.search(r"Created experiment (\d+)", text)[1])
    cluster.wait_for_state(id, "COMPLETED", seconds=400)
    found = cluster.get(f"experiments/{id}/trials")["trials"]
    assert len(found) == trials
    assert all(trial["restarts"] == 0 for trial in found)
    longest = int(SHORTER[example][0].rpartition("=")[2])
    assert max(trial["totalBatchesProcessed"] for trial in found) == longest
    assert cluster.metrics(found[0]["id"], "validation")
