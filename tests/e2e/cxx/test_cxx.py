"""Trials in C++: the numbers, the checkpoints and the life of their Python twins."""

import collections
import os
import pathlib
import random
import re
import subprocess

import pytest
import torch
from cluster import BINARY, REPOSITORY, wait_until
from cxx import PROGRAM, needs_det_trial, running
from images import few_images
from one_slot import SEED, disturb, kill_agent, kill_master, kill_shim, kill_trial, outcome, pause

MODELS = pathlib.Path(__file__).parents[1] / "models"
EXAMPLES = REPOSITORY / "examples"
NOISY = MODELS / "noisy_cxx"
SMALL = ("--config", "environment.environment_variables=[OMP_NUM_THREADS=1]")
SHORT = (
    "--config",
    "searcher.max_length.batches=20",
    "--config",
    "scheduling_unit=5",
    "--config",
    "reproducibility.experiment_seed=11",
)

pytestmark = needs_det_trial


@pytest.fixture
def run(tmp_path, compiled):
    """A cluster that runs trials in C++."""
    with running(tmp_path, compiled) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, compiled):
    """What the noisy trial leaves behind where nothing disturbs it."""
    with running(tmp_path_factory.mktemp("undisturbed"), compiled) as cluster:
        id = cluster.create(NOISY)
        cluster.wait_for_state(id, "COMPLETED", seconds=400)
        return outcome(cluster, id)


def checkpoint_of(cluster, experiment):
    trial = cluster.trial_of(experiment)["id"]
    found = cluster.get(f"trials/{trial}/checkpoints")["checkpoints"]
    newest = max(found, key=lambda c: c["metadata"]["steps_completed"])
    return newest["uuid"], cluster.directory / "checkpoints" / newest["uuid"]


def create(cluster, directory, *options):
    return cluster.create(directory, *SMALL, *options)


def twin_of_the_tutorial(options):
    model = torch.nn.Sequential(
        *(torch.nn.Conv2d(1, 40, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU()),
        *(torch.nn.Conv2d(40, 40, 5), torch.nn.MaxPool2d(2), torch.nn.ReLU(), torch.nn.Flatten()),
        *(torch.nn.Linear(640, 50), torch.nn.ReLU(), torch.nn.Dropout2d(0.5), torch.nn.Linear(50, 10)),
        torch.nn.LogSoftmax(1),
    )
    model.load_state_dict(options)
    return model.eval()


def test_the_tutorials_model_has_the_same_numbers_and_checkpoints_in_both_languages(run):
    """Losses, validations and weights are equal to the last bit; each reads the other's checkpoint."""
    cxx = create(run, EXAMPLES / "mnist_pytorch_cpp", *SHORT, *few_images())
    run.wait_for_state(cxx, "COMPLETED", seconds=400)
    python = create(run, EXAMPLES / "mnist_pytorch", "--config", "searcher.max_steps=4", *SHORT[2:], *few_images())
    run.wait_for_state(python, "COMPLETED")
    for group in ("training", "validation"):
        ours, theirs = (run.metrics(run.trial_of(id)["id"], group) for id in (cxx, python))
        assert ours == theirs, group

    # Python reads a checkpoint of C++, without executing anything of it.
    (_, of_cxx), (uuid, of_python) = (checkpoint_of(run, id) for id in (cxx, python))
    ours = torch.load(of_cxx / "state-dict.pth", weights_only=True)
    theirs = torch.load(of_python / "state-dict.pth", weights_only=False)
    keys = {"models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "callbacks"}
    assert set(ours) == keys
    assert isinstance(ours["models_state_dict"][0], collections.OrderedDict)
    images = torch.randn(8, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    a, b = (twin_of_the_tutorial(state["models_state_dict"][0])(images) for state in (ours, theirs))
    assert torch.equal(a, b)
    optimizer = torch.optim.SGD(twin_of_the_tutorial(ours["models_state_dict"][0]).parameters(), lr=9)
    optimizer.load_state_dict(ours["optimizers_state_dict"][0])
    assert optimizer.param_groups[0]["lr"] == 0.001
    for index, state in theirs["optimizers_state_dict"][0]["state"].items():
        assert torch.equal(state["momentum_buffer"], optimizer.state_dict()["state"][index]["momentum_buffer"])
    assert (of_cxx / "code" / "model_def.cpp").is_file()

    # C++ starts from the weights of a Python trial.
    warm = create(
        run,
        EXAMPLES / "mnist_pytorch_cpp",
        *SHORT,
        *few_images(),
        *("--config", f"searcher.source_checkpoint_uuid={uuid}"),
        *("--config", "perform_initial_validation=true"),
    )
    run.wait_for_state(warm, "COMPLETED")
    first = run.metrics(run.trial_of(warm)["id"], "validation")[0]
    last = run.metrics(run.trial_of(python)["id"], "validation")[-1]
    assert first[0] == 0
    assert first[1] == last[1]


def test_a_compile_error_is_the_trials_error_in_the_compilers_words_and_is_not_tried_again(run):
    id = run.create(MODELS / "broken_cxx")
    run.wait_for_state(id, "ERROR", seconds=400)
    log = run.log_text(id)
    assert re.search(r"model_def\.cpp:7:\d+: error: .*no_such_function", log), log[-2000:]
    assert log.count("building model_def.cpp") == 1
    trial = run.get(f"trials/{run.trial_of(id)['id']}")["trial"]
    assert trial["restarts"] == 0
    assert trial["state"] == "STATE_ERROR"
    assert "no_such_function" in log.split("is not restarted")[-1]


def test_a_trial_that_the_entry_point_does_not_find_is_told_what_there_is(run):
    id = run.create(NOISY, "--config", "entrypoint=model_def.cpp:NoiseTrial")
    run.wait_for_state(id, "ERROR", seconds=400)
    assert "trial NoiseTrial is not in the model definition; it has: NoisyTrial" in run.log_text(id)


def test_a_trial_that_fails_says_at_which_batch_and_its_callbacks_hear_of_the_end(run):
    wrong = "environment.environment_variables=[GOES_WRONG={}]"
    ids = [
        run.create(NOISY, "--config", wrong.format(how), "--config", "max_restarts=0") for how in ("throws", "crashes")
    ]
    for id in ids:
        run.wait_for_state(id, "ERROR", seconds=400)
    thrown, crashed = (run.log_text(id) for id in ids)
    assert "while training batch 13: std::runtime_error: record 17 is broken" in thrown
    assert "goodbye" in thrown
    assert "the trial crashed with SIGSEGV (invalid memory access) while training the batches 10 to 19" in crashed
    assert re.search(r"/cxx/libraries/\w+\.so\(\+0x", crashed), "where: for addr2line"


def test_a_local_run_whose_trial_ends_the_process_has_failed(compiled):
    done = subprocess.run(
        [PROGRAM, "local", NOISY / "const.yaml", NOISY, "--batches", "20"],
        env={**os.environ, "GOES_WRONG": "exits", "DET_CXX_CACHE": str(compiled.place)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the trial called exit() before it was complete" in done.stderr


@pytest.mark.parametrize("apart", [False, True], ids=["det up", "apart"])
def test_many_kills_of_everything_around_a_trial_in_c_plus_plus_change_nothing(tmp_path, compiled, undisturbed, apart):
    random.seed(f"{SEED}: c++, {apart}")
    acts = [kill_trial, kill_shim, kill_master, pause, kill_agent if apart else kill_master]
    random.shuffle(acts)
    moments = sorted(random.uniform(0, 0.95) for _ in acts)
    with running(tmp_path, compiled, apart=apart) as cluster:
        disturb(cluster, NOISY, undisturbed, list(zip(moments, acts, strict=True)))


def test_equal_sources_are_built_once(run):
    ids = [run.create(NOISY, "--config", f"reproducibility.experiment_seed={n}") for n in range(3)]
    for id in ids:
        run.wait_for_state(id, "COMPLETED", seconds=400)
    builds = sum(run.log_text(id).count("built in") for id in ids)
    assert builds <= 1
    assert len(list((run.agent_directory / "cxx" / "libraries").glob("*.so"))) >= 1


@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/model_def.cpp")))
def test_the_examples_in_c_plus_plus_pass_the_local_test_which_needs_no_master(compiled, example):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DET")}
    done = subprocess.run(
        [BINARY, "experiment", "create", "--local", "--test", "const.yaml", "."],
        cwd=EXAMPLES / example,
        env=environment | {"DET_CXX_CACHE": str(compiled.place), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "reloading the checkpoint" in text
    assert re.search(r"the test of \w+ passed", text), text


def test_sigterm_ends_a_trial_in_c_plus_plus_too(run):
    id = run.create(NOISY, "--config", "hyperparameters.seconds_per_batch=0.2")
    trial = run.trial_of(id)["id"]
    wait_until(lambda: run.metrics(trial, "training"), "training", seconds=400)
    shim = run.shims()[0]
    run.run("experiment", "kill", id)
    run.wait_for_state(id, "CANCELED")
    wait_until(lambda: not pathlib.Path(f"/proc/{shim['pid']}").exists(), "the end of the shim")
