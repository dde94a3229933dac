"""Searches on the real program: who waits to be promoted holds no slots, and goes on as if it had never waited."""

import shutil

import pytest
import yaml


@pytest.fixture
def definition(noisy, tmp_path):
    """A copy of the tiny model, and a way to give it another searcher."""
    folder = shutil.copytree(noisy, tmp_path / "definition")
    config = yaml.safe_load((folder / "const.yaml").read_text())

    def write(file, /, **searcher):
        changed = {**config, "searcher": {"metric": "validation_loss", "smaller_is_better": True, **searcher}}
        changed.pop("min_validation_period")
        (folder / file).write_text(yaml.safe_dump(changed))
        return file

    return folder, write


def final(cluster, trial):
    """The last validation: it holds a checksum of the weights."""
    return cluster.metrics(trial["id"], "validation")[-1]


def test_asha_on_one_slot_ends_and_a_promotion_changes_no_number(start, definition):
    folder, write = definition
    cluster = start(options=["--slots", "1"])
    halving = dict(name="async_halving", num_rungs=2, divisor=2, max_trials=4, max_concurrent_trials=2)
    halves = cluster.create(folder, config=write("asha.yaml", max_length={"batches": 120}, **halving))
    cluster.wait_for_state(halves, "COMPLETED")
    trials = cluster.get(f"experiments/{halves}/trials")["trials"]
    lengths = [t["totalBatchesProcessed"] for t in sorted(trials, key=lambda t: t["id"])]
    assert sorted(lengths) == [60, 60, 120, 120]
    assert all(t["restarts"] == 0 for t in trials)

    whole = cluster.create(
        folder, config=write("random.yaml", name="random", max_trials=4, max_length={"batches": 120})
    )
    cluster.wait_for_state(whole, "COMPLETED")
    undisturbed = sorted(cluster.get(f"experiments/{whole}/trials")["trials"], key=lambda t: t["id"])
    for one, other in zip(sorted(trials, key=lambda t: t["id"]), undisturbed, strict=True):
        if one["totalBatchesProcessed"] == 120:
            assert final(cluster, one) == final(cluster, other)
            assert cluster.metrics(one["id"], "training") == cluster.metrics(other["id"], "training")


def test_the_best_of_a_population_are_copied_with_their_weights(start, definition):
    folder, write = definition
    cluster = start(options=["--slots", "2"])
    config = write(
        "pbt.yaml",
        name="pbt",
        population_size=2,
        num_rounds=2,
        length_per_round={"batches": 40},
        replace_function={"truncate_fraction": 0.5},
        explore_function={"resample_probability": 0.0, "perturb_factor": 0.0},
    )
    search = cluster.create(folder, config=config)
    cluster.wait_for_state(search, "COMPLETED")
    trials = sorted(cluster.get(f"experiments/{search}/trials")["trials"], key=lambda t: t["id"])
    assert [t["totalBatchesProcessed"] for t in trials].count(40) == 2  # the one that was closed, and the copy
    copied = trials[2]["warmStartCheckpointUuid"]
    parent = cluster.get(f"checkpoints/{copied}")["checkpoint"]["training"]["trialId"]
    best = min(
        trials[:2], key=lambda t: cluster.metrics(t["id"], "validation")[0][1]["validation_metrics"]["validation_loss"]
    )
    assert parent == best["id"]


def lengths_of(cluster, id):
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    return sorted(t["totalBatchesProcessed"] for t in trials)


def test_a_population_trains_more_rounds_while_it_lives(start, definition):
    folder, write = definition
    cluster = start(options=["--slots", "2"])
    population = dict(name="pbt", population_size=2, num_rounds=1, length_per_round={"batches": 40})
    population["replace_function"] = {"truncate_fraction": 0.0}
    population["explore_function"] = {"resample_probability": 0.0, "perturb_factor": 0.0}
    id = cluster.create(folder, "--paused", config=write("pbt.yaml", **population))
    assert "Set `num_rounds` of experiment" in cluster.run("experiment", "set", "num-rounds", id, 2)
    refused = cluster.run("experiment", "set", "num-rounds", id, 1, code=1)
    assert "searcher.num_rounds is 1; it must be at least the current value, 2" in refused
    cluster.run("experiment", "activate", id)
    cluster.wait_for_state(id, "COMPLETED")
    assert lengths_of(cluster, id) == [80, 80]
    assert cluster.experiment(id)["config"]["searcher"]["num_rounds"] == 2


def test_a_search_is_edited_while_it_lives_and_extended_after_it_ended(start, definition):
    folder, write = definition
    cluster = start(options=["--slots", "2"])
    config = write("r.yaml", name="random", max_trials=2, max_concurrent_trials=1, max_length={"batches": 40})
    id = cluster.create(folder, "--config", "hyperparameters.seconds_per_batch=0.02", config=config)
    assert "Set `max_concurrent_trials`" in cluster.run("experiment", "set", "max-concurrent-trials", id, 2)
    cluster.run("experiment", "set", "max-length", id, 60)
    cluster.run("experiment", "set", "max-trials", id, 3)
    refused = cluster.run("experiment", "set", "max-trials", id, 1, code=1)
    assert "searcher.max_trials is 1; it must be at least the current value, 3" in refused
    cluster.wait_for_state(id, "COMPLETED")
    assert lengths_of(cluster, id) == [60, 60, 60]
    first = {t["id"]: cluster.metrics(t["id"], "validation") for t in cluster.get(f"experiments/{id}/trials")["trials"]}

    refused = cluster.run("experiment", "set", "max-concurrent-trials", id, 4, code=1)
    assert "these sizes add nothing to it" in refused
    cluster.run("experiment", "set", "max-trials", id, 4)
    cluster.master.kill()
    cluster.start_master()
    cluster.wait_for_state(id, "COMPLETED")
    assert lengths_of(cluster, id) == [60, 60, 60, 60]
    for trial, metrics in first.items():
        assert cluster.metrics(trial, "validation") == metrics, "what was there is as it was"
    assert cluster.experiment(id)["config"]["searcher"]["max_trials"] == 4

    halving = dict(num_rungs=2, divisor=2, max_trials=4, max_concurrent_trials=1, stop_once=True)
    config = write("h.yaml", name="async_halving", max_length={"batches": 40}, **halving)
    halves = cluster.create(folder, "--config", "hyperparameters.seconds_per_batch=0.02", config=config)
    cluster.run("experiment", "set", "max-length", halves, 90)
    cluster.wait_for_state(halves, "COMPLETED")
    lengths = lengths_of(cluster, halves)
    assert lengths[0] == 20 and lengths[-1] == 90, "the lower rung stays, the top one has moved"
    assert set(lengths) <= {20, 90}

    single = cluster.create(folder, config=write("s.yaml", name="single", max_length={"batches": 20}))
    cluster.wait_for_state(single, "COMPLETED")
    refused = cluster.run("experiment", "set", "max-length", single, 40, code=1)
    assert "its search cannot be extended" in refused
