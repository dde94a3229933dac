"""What a trial in C++ is put together from — schedulers, reducers, callbacks — does what Python's does."""

import pathlib

import pytest
from cxx import needs_det_trial, running
from test_cxx_numbers import newest_state, trials_by

MODELS = pathlib.Path(__file__).parents[1] / "models"

pytestmark = needs_det_trial


@pytest.fixture
def run(tmp_path, compiled):
    with running(tmp_path, compiled, options=["--slots", "4"]) as cluster:
        yield cluster


def trained(cluster, trial="PartsTrial", *options):
    """The trials of the model in C++ and in Python, by when their schedulers step."""
    both = []
    for name, entry in (("parts_cxx", "model_def.cpp"), ("parts", "model_def")):
        both.append(cluster.create(MODELS / name, "--config", f"entrypoint={entry}:{trial}", *options))
        cluster.wait_for_state(both[-1], "COMPLETED", seconds=400)
    return [trials_by(cluster, id, "steps") for id in both]


@pytest.mark.parametrize("slots", [1, 2])
def test_steps_of_schedulers_and_reduced_metrics_and_hooks_are_those_of_python(run, slots):
    """Every step mode over sums of two batches' gradients; reducers by name and of the trial's own, over slots."""
    ours, theirs = trained(run, "PartsTrial", "--config", f"resources.slots_per_trial={slots}")
    assert len(ours) == 6
    rates = set()
    for steps, trial in ours.items():
        for group in ("training", "validation"):
            assert run.metrics(trial, group) == run.metrics(theirs[steps], group), f"{steps}: {group}"
        reports = [metrics["batch_metrics"] for _, metrics in run.metrics(trial, "training")]
        rates.add(tuple(batch["rate"] for report in reports for batch in report))
        a, b = (newest_state(run, one)["callbacks"]["heard"]["hooks"] for one in (trial, theirs[steps]))
        assert list(a) == list(b)
        assert "training_epoch_end 0" in a
    assert len(rates) == 6, "two step modes have the same rates"
    report = run.metrics(ours["MANUAL_STEP 1"], "validation")[-1][1]["validation_metrics"]
    assert set(report) == {"sum", "least", "greatest", "validation_loss", "seen"}
    assert report["least"] < report["validation_loss"] < report["greatest"] < report["sum"]


def test_a_trial_that_evaluates_the_whole_set_itself_has_pythons_numbers(run):
    ours, theirs = trained(run, "WholeTrial", "--config", "hyperparameters.steps=MANUAL_STEP 1")
    (steps,) = ours
    found = run.metrics(ours[steps], "validation")
    assert found == run.metrics(theirs[steps], "validation")
    assert found[-1][1]["validation_metrics"]["batches"] == 6
