"""Trials in C++ have the bits of Python's with each optimizer, and a record of where they were computed."""

import pathlib
import re

import pytest
import torch
from cxx import needs_det_trial, running

MODELS = pathlib.Path(__file__).parents[1] / "models"

pytestmark = needs_det_trial


@pytest.fixture
def run(tmp_path, compiled):
    with running(tmp_path, compiled, options=["--slots", "4"]) as cluster:
        yield cluster


def trials_by(cluster, experiment, hyperparameter):
    trials = cluster.get(f"experiments/{experiment}/trials")["trials"]
    return {trial["hparams"][hyperparameter]: trial["id"] for trial in trials}


def newest_state(cluster, trial):
    found = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    newest = max(found, key=lambda c: c["metadata"]["steps_completed"])
    return torch.load(cluster.directory / "checkpoints" / newest["uuid"] / "state-dict.pth", weights_only=False)


def same(ours, theirs):
    """Whether two states are equal to the last bit, in what both languages keep."""
    if isinstance(theirs, torch.Tensor):
        return torch.equal(ours, theirs)
    if isinstance(theirs, dict):
        return all(same(ours[key], value) for key, value in theirs.items() if key in ours and value is not None)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def test_every_optimizer_has_the_same_losses_weights_and_states_in_both_languages(run):
    """One search over optimizers in each language; equal seeds make equal trials."""
    both = [run.create(MODELS / name) for name in ("optimizers_cxx", "optimizers")]
    for id in both:
        run.wait_for_state(id, "COMPLETED", seconds=400)
    ours, theirs = (trials_by(run, id, "optimizer") for id in both)
    assert set(ours) == set(theirs)
    assert len(ours) == 13
    different = set()
    for name, trial in ours.items():
        for group in ("training", "validation"):
            if run.metrics(trial, group) != run.metrics(theirs[name], group):
                different.add(f"{name}: {group}")
        a, b = (newest_state(run, one) for one in (trial, theirs[name]))
        for part in ("models_state_dict", "optimizers_state_dict"):
            if not same(a[part][0], b[part][0]):
                different.add(f"{name}: {part}")
    assert not different


def test_a_trial_in_c_plus_plus_records_where_it_ran(run):
    id = run.create(MODELS / "noisy_cxx", "--config", "searcher.max_length.batches=10")
    run.wait_for_state(id, "COMPLETED", seconds=400)
    trial = run.trial_of(id)["id"]
    shown = run.run("trial", "describe", trial)
    facts = dict(re.findall(r"^ *(\w[\w ]*?) *\| *(.*?) *\|? *$", shown, re.MULTILINE))
    for name in ("machine", "CPU", "cores", "kernel", "seeds"):
        assert facts.get(name), shown
    assert f"torch: {torch.__version__.partition('+')[0]}" in shown
    assert "deterministic_algorithms: " in shown
    assert re.search(r"libtorch_cpu\.so", shown), shown
    assert re.search(r"compiler: /", shown), shown


@pytest.mark.parametrize(("model", "slots"), [("ranks", 1), ("ranks", 2)])
def test_a_trial_in_c_plus_plus_counts_its_records_as_one_in_python_does(run, model, slots):
    """What the browser's axes are made of: batches and records of every report, and so epochs."""
    options = ["--config", f"resources.slots_per_trial={slots}", "--config", "searcher.max_length.batches=24"]
    options += ["--config", "min_validation_period.batches=8"]
    both = [run.create(MODELS / name, *options) for name in (model, f"{model}_cxx")]
    for id in both:
        run.wait_for_state(id, "COMPLETED", seconds=400)

    def counted(id):
        path = f"trials/{run.trial_of(id)['id']}/workloads?limit=1000"
        done = run.get(path)["workloads"]
        return [
            (group, w[group]["totalBatches"], w[group]["numInputs"])
            for w in done
            for group in ("training", "validation")
            if w.get(group)
        ]

    python, ours = map(counted, both)
    assert ours == python
    assert all(records > 0 for _, _, records in ours)
    assert sum(records for group, _, records in ours if group == "training") == 24 * 8
