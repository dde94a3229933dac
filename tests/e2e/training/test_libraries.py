"""Training loops of libraries from PyPI: every example, and whatever happens to it, its bits."""

import re

import pytest
from libraries import (
    EXAMPLES,
    SLOW,
    contents,
    create,
    definition,
    directory_of,
    disturb,
    newest_checkpoint,
    reports,
)

SEED = "reproducibility.experiment_seed=7"
LAUNCH = "python3 -m determined.launch.torch_distributed python3 disturbed.py"
CONFIGS = {
    "gpt2_transformers": ["const.yaml", "lora.yaml", "search.yaml", "sft.yaml"],
    "iris_keras": ["const.yaml", "random.yaml"],
    "fashion_lightning": ["const.yaml", "distributed.yaml", "adapter.yaml"],
    "fashion_accelerate": ["const.yaml", "distributed.yaml"],
    "fashion_fsdp": ["const.yaml"],
    "digits_core_api": ["sklearn.yaml", "xgboost.yaml", "lightgbm.yaml", "jax.yaml"],
    "text_stream": ["const.yaml", "grid.yaml"],
}


OPTIONS = ["--slots", "4"]


@pytest.fixture
def compare(cluster, tmp_path):
    """Trains an example with and without what happens at its moments; what both leave behind, which is the same."""

    def run(example, settings, moments, files, *, config="const.yaml", entry="python3 disturbed.py", acts=()):
        place = definition(tmp_path / "code", example)
        settings = [*settings, SEED, "max_restarts=1"]
        plain = create(cluster, place, *settings, config=config)
        other = [f"entrypoint={entry}", f"hyperparameters.moments={moments}"]
        id = create(cluster, place, *settings, *other, config=config)
        expected = None
        for number, moment in enumerate(moments):
            act = acts[number] if acts else "pause"
            if act == "preempt":  # takes all slots of the agent
                expected = left_behind(cluster, plain, *files)
            if moment > 0:
                disturb(cluster, id, number + 1, act)
        expected = expected or left_behind(cluster, plain, *files)
        assert left_behind(cluster, id, *files) == expected
        assert cluster.trial_of(id)["restarts"] == sum(moment < 0 for moment in moments)
        return id, expected

    return run


def left_behind(cluster, id, *patterns):
    cluster.wait_for_state(id, "COMPLETED", seconds=SLOW)
    trial = cluster.trial_of(id)["id"]
    newest = newest_checkpoint(cluster, trial)
    steps = newest["metadata"]["steps_completed"]
    return {"steps": steps, **reports(cluster, trial), "files": contents(directory_of(cluster, newest), *patterns)}


def at(rows):
    return [step for step, _ in rows]


def test_every_command_of_a_readme_is_run_here():
    for example, configs in CONFIGS.items():
        text = (EXAMPLES / example / "README.md").read_text()
        assert re.findall(r"^    det experiment create (\S+) \.", text, re.M) == configs, example


GPT2 = [
    "searcher.max_length.batches=30",
    "data.bytes=20000",
    "hyperparameters.width=16",
    "hyperparameters.training_arguments.logging_steps=4",
    "hyperparameters.training_arguments.per_device_train_batch_size=4",
]
EVALS = ["hyperparameters.training_arguments.eval_steps=10", "hyperparameters.training_arguments.save_steps=6"]
GPT2_FILES = ("model.safetensors", "adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


def test_a_trainer_of_transformers_ends_with_equal_bits_whatever_happens(compare):
    acts = ("", "pause", "preempt")
    _, left = compare("gpt2_transformers", [*GPT2, *EVALS], [-8, 15, 25], GPT2_FILES, acts=acts)
    assert left["steps"] == 30
    assert at(left["training"]) == [4, 8, 12, 16, 20, 24, 28, 30]  # the last is the Trainer's summary
    assert at(left["validation"]) == [10, 20, 30]


@pytest.mark.parametrize(("config", "script", "moments"), [("lora.yaml", "train", [-15]), ("sft.yaml", "sft", [9])])
def test_so_do_a_lora_and_a_trainer_of_trl(compare, config, script, moments):
    entry = f"python3 disturbed.py {script}"
    compare("gpt2_transformers", [*GPT2, *EVALS], moments, GPT2_FILES, config=config, entry=entry)


def test_a_search_asks_trainers_for_more(cluster, tmp_path):
    place = definition(tmp_path / "code", "gpt2_transformers")
    width = ["searcher.max_length.batches=8", "hyperparameters.width=16", "searcher.max_trials=2", "searcher.divisor=2"]
    id = create(cluster, place, *[one for one in GPT2 if "length" not in one and "width" not in one], *width, SEED,
                config="search.yaml")  # fmt: skip
    cluster.wait_for_state(id, "COMPLETED", seconds=SLOW)
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    assert sorted(trial["totalBatchesProcessed"] for trial in trials) == [4, 8]
    for trial in trials:
        assert at(cluster.metrics(trial["id"], "validation")) in ([4], [4, 8])


def test_a_model_of_keras_ends_with_equal_bits_whatever_happens(compare):
    files = ("model_checkpoint.weights.h5", "determined-training-state.pkl")
    _, left = compare("iris_keras", ["searcher.max_length.epochs=10"], [-4, 7], files)
    assert at(left["training"]) == at(left["validation"]) == [8 * epoch for epoch in range(1, 11)]
    assert left["validation"][-1][1]["epochs"] == 10


def test_a_search_trains_several_models_of_keras(cluster, tmp_path):
    place = definition(tmp_path / "code", "iris_keras")
    id = create(cluster, place, "searcher.max_length.epochs=2", "searcher.max_trials=2", config="random.yaml")
    cluster.wait_for_state(id, "COMPLETED", seconds=SLOW)
    trials = cluster.get(f"experiments/{id}/trials")["trials"]
    assert [trial["totalBatchesProcessed"] for trial in trials] == [16, 16]


FASHION = [
    "data.images=200",
    "hyperparameters.width=16",
    "hyperparameters.global_batch_size=16",
    "searcher.max_length.epochs=4",
]
BATCHES = list(range(1, 53))


@pytest.mark.parametrize(("config", "moments"), [("const.yaml", [-17, 20]), ("distributed.yaml", [26])])
def test_a_lightning_module_ends_with_equal_bits_whatever_happens(compare, config, moments):
    settings = [*FASHION, "hyperparameters.log_every=3"]
    files = ("*.ckpt", "*.pth")
    _, left = compare("fashion_lightning", settings, moments, files, config=config, entry=LAUNCH)
    assert left["steps"] == 52
    assert at(left["validation"]) == [13, 26, 39, 52]
    assert [step for step, row in left["training"] if "loss_step" in row] == list(range(3, 52, 3))


@pytest.mark.parametrize(("slots", "hparams"), [(1, []), (2, []), (1, ["hyperparameters.manual=true"])])
def test_a_lightning_module_in_the_loop_of_the_platform_ends_with_equal_bits_after_a_kill(compare, slots, hparams):
    periods = ["scheduling_unit=5", "min_checkpoint_period.batches=10", "min_validation_period.epochs=1"]
    settings = [*FASHION, *periods, *hparams, f"resources.slots_per_trial={slots}", "records_per_epoch=200"]
    settings += ["entrypoint=disturbed_adapter:Trial", "hyperparameters.moments=[]"]
    entry = "disturbed_adapter:Trial"
    _, left = compare("fashion_lightning", settings, [-17], ["state_dict.pth"], config="adapter.yaml", entry=entry)
    assert left["validation"][-1][1].keys() == {"val_loss", "val_accuracy"}
    losses = [row["loss"] for _, row in left["training"]]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(("config", "moments"), [("const.yaml", [20]), ("distributed.yaml", [-17, 20])])
def test_a_script_with_accelerate_ends_with_equal_bits_whatever_happens(compare, config, moments):
    files = ("model.safetensors", "*.bin", "random_states_*", "state.json")
    _, left = compare("fashion_accelerate", FASHION, moments, files, config=config, entry=LAUNCH)
    assert at(left["training"]) == BATCHES


def test_sharded_weights_end_with_equal_bits_and_go_on_with_another_number_of_slots(cluster, compare):
    id, left = compare("fashion_fsdp", FASHION, [20], ("*.distcp", "state.json"), entry=LAUNCH)
    assert at(left["training"]) == BATCHES
    options = ["resources.slots_per_trial=1", "searcher.max_length.epochs=5"]
    cluster.run("experiment", "continue", id, *(word for one in options for word in ("--config", one)))
    cluster.wait_for_state(id, "COMPLETED")
    rows = reports(cluster, cluster.trial_of(id)["id"])["training"]
    assert rows[:52] == left["training"]
    assert [(step, row["ranks"]) for step, row in rows[52:]] == [(step, 1) for step in range(53, 66)]
    assert rows[-1][1]["loss"] < rows[0][1]["loss"]


@pytest.mark.parametrize("library", ["sklearn", "xgboost", "lightgbm", "jax"])
def test_a_script_with_another_library_goes_on_where_it_was(compare, library):
    entry = f"python3 disturbed.py train_{library}.py"
    files = ("state.*", "model.*")
    _, left = compare("digits_core_api", ["searcher.max_length=6"], [3], files, config=f"{library}.yaml", entry=entry)
    assert at(left["validation"]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("source", ["list", "datasets", "webdataset"])
def test_a_stream_of_data_goes_on_with_the_next_batch(compare, source):
    small = ["data.lines=10", "searcher.max_length=40", "hyperparameters.batch_size=8"]
    small.append(f"hyperparameters.source={source}")
    _, left = compare("text_stream", small, [27], ("state.pth",))
    assert at(left["training"]) == list(range(1, 41))
