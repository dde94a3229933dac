"""Training loops of libraries from PyPI: each example, and whatever happens to it, its bits."""

import pytest
from cluster import Cluster, wait_until
from libraries import SLOW, contents, create, definition, directory_of, disturb, newest_checkpoint, reports


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    it = Cluster(tmp_path_factory.mktemp("libraries") / "cluster", options=["--slots", "2"]).start()
    yield it
    it.end()


def left_behind(cluster, id, *patterns, seconds=90):
    cluster.wait_for_state(id, "COMPLETED", seconds=seconds)
    trial = cluster.trial_of(id)["id"]
    newest = newest_checkpoint(cluster, trial)
    steps = newest["metadata"]["steps_completed"]
    return {"steps": steps, **reports(cluster, trial), "files": contents(directory_of(cluster, newest), *patterns)}


GPT2 = [
    "searcher.max_length.batches=30",
    "data.bytes=8000",
    "hyperparameters.width=16",
    "hyperparameters.training_arguments.logging_steps=4",
    "hyperparameters.training_arguments.eval_steps=10",
    "hyperparameters.training_arguments.save_steps=6",
    "max_restarts=1",
]
GPT2_FILES = ("model.safetensors", "adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")


@pytest.mark.parametrize("config", ["const.yaml", "lora.yaml"])
def test_a_trainer_of_transformers_ends_with_equal_bits_whatever_happens(cluster, tmp_path, config):
    place = definition(tmp_path / "code", "gpt2_transformers")
    plain = create(cluster, place, *GPT2, "reproducibility.experiment_seed=7", config=config)
    other = [*GPT2, "reproducibility.experiment_seed=7", "entrypoint=python3 disturbed.py"]
    expected = left_behind(cluster, plain, *GPT2_FILES, seconds=SLOW)
    assert expected["steps"] == 30
    assert [at for at, _ in expected["training"]] == [4, 8, 12, 16, 20, 24, 28, 30]  # the last is the Trainer's summary
    assert [at for at, _ in expected["validation"]] == [10, 20, 30]
    id = create(cluster, place, *other, "hyperparameters.moments=[8,15,25]", config=config)
    disturb(cluster, id)
    assert left_behind(cluster, id, *GPT2_FILES) == expected
    assert cluster.trial_of(id)["restarts"] == 1


def test_a_model_of_keras_ends_with_equal_bits_whatever_happens(cluster, tmp_path):
    place = definition(tmp_path / "code", "iris_keras")
    settings = ["searcher.max_length.epochs=12", "reproducibility.experiment_seed=7", "max_restarts=1"]
    files = ("model_checkpoint.weights.h5", "determined-training-state.pkl")
    plain = create(cluster, place, *settings)
    id = create(cluster, place, *settings, "entrypoint=python3 disturbed.py", "hyperparameters.moments=[4,6,9]")
    expected = left_behind(cluster, plain, *files, seconds=SLOW)
    assert [at for at, _ in expected["training"]] == [8 * epoch for epoch in range(1, 13)]
    assert expected["validation"][-1][1]["epochs"] == 12
    disturb(cluster, id)
    assert left_behind(cluster, id, *files) == expected


LIGHTNING = [
    "data.images=200",
    "hyperparameters.width=16",
    "hyperparameters.global_batch_size=16",
    "hyperparameters.log_every=3",
    "searcher.max_length.epochs=4",
    "reproducibility.experiment_seed=7",
    "max_restarts=1",
]


@pytest.mark.parametrize("config", ["const.yaml", "distributed.yaml"])
def test_a_lightning_module_ends_with_equal_bits_whatever_happens(cluster, tmp_path, config):
    place = definition(tmp_path / "code", "fashion_lightning")
    launch = "entrypoint=python3 -m determined.launch.torch_distributed python3 disturbed.py"
    moments = "hyperparameters.moments=[17,20,44]"
    expected = left_behind(cluster, create(cluster, place, *LIGHTNING, config=config), "*.ckpt", "*.pth", seconds=SLOW)
    assert expected["steps"] == 4 * 13
    assert [at for at, _ in expected["validation"]] == [13, 26, 39, 52]
    assert all("loss_epoch" in row or "loss_step" in row for _, row in expected["training"])
    id = create(cluster, place, *LIGHTNING, launch, moments, config=config)
    disturb(cluster, id)
    assert left_behind(cluster, id, "*.ckpt", "*.pth") == expected


@pytest.mark.parametrize("example", ["fashion_accelerate", "fashion_fsdp"])
def test_a_script_on_two_slots_ends_with_equal_bits_whatever_happens(cluster, tmp_path, example):
    place = definition(tmp_path / "code", example)
    config = "distributed.yaml" if example == "fashion_accelerate" else "const.yaml"
    launch = "entrypoint=python3 -m determined.launch.torch_distributed python3 disturbed.py"
    small = [setting for setting in LIGHTNING if "log_every" not in setting]
    files = ("*.distcp", "model.safetensors", "*.bin", "state.json")
    expected = left_behind(cluster, create(cluster, place, *small, config=config), *files, seconds=SLOW)
    assert [at for at, _ in expected["training"]] == list(range(1, 53))
    id = create(cluster, place, *small, launch, "hyperparameters.moments=[17,20,44]", config=config)
    disturb(cluster, id)
    assert left_behind(cluster, id, *files) == expected
    if example == "fashion_fsdp":
        goes_on_with_one_slot(cluster, id, expected)


def goes_on_with_one_slot(cluster, id, before):
    """The shards of two ranks are put together for one."""
    options = ["resources.slots_per_trial=1", "searcher.max_length.epochs=5", "hyperparameters.moments=[]"]
    cluster.run("experiment", "continue", id, *(word for one in options for word in ("--config", one)))
    cluster.wait_for_state(id, "COMPLETED")
    rows = reports(cluster, cluster.trial_of(id)["id"])["training"]
    assert rows[:52] == before["training"]
    assert [(at, row["ranks"]) for at, row in rows[52:]] == [(at, 1) for at in range(53, 66)]
    assert rows[-1][1]["loss"] < rows[0][1]["loss"]


@pytest.mark.parametrize("library", ["sklearn", "xgboost", "lightgbm", "jax"])
def test_a_script_with_another_library_goes_on_where_it_was(cluster, tmp_path, library):
    place = definition(tmp_path / "code", "digits_core_api")
    settings = ["searcher.max_length=8", "reproducibility.experiment_seed=7", "max_restarts=1"]
    plain = create(cluster, place, *settings, config=f"{library}.yaml")
    entry = f"entrypoint=python3 disturbed.py train_{library}.py"
    id = create(cluster, place, *settings, entry, "hyperparameters.moments=[2,3]", config=f"{library}.yaml")
    wait_until(lambda: "run 2 waits" in cluster.log_text(id), "the second run", SLOW)
    cluster.run("experiment", "pause", id)
    wait_until(lambda: not cluster.shims(), "no process of the paused trial")
    cluster.run("experiment", "activate", id)
    expected = left_behind(cluster, plain, "state.*", "model.*")
    assert [at for at, _ in expected["validation"]] == list(range(1, 9))
    assert left_behind(cluster, id, "state.*", "model.*") == expected
