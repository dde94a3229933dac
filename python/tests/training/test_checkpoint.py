"""What a checkpoint holds, and what can be read."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch
from harness import CONFIG, Run, train
from trials import ClassicTrial, ContextTrial, EverythingTrial

from determined._definition import _source, _trial_files
from determined._run import _launch, _local_run
from determined.common.check import CheckFailedError
from determined.experimental import Checkpoint
from determined.pytorch import CheckpointLoadContext, _state, load_trial_from_checkpoint_path

MODEL = """
import torch
from helper import make
from determined.pytorch import DataLoader, PyTorchTrial

class MyTrial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(make(context.get_hparam("width")))
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.1))

    def build_training_data_loader(self):
        return DataLoader([torch.ones(2)] * 8, batch_size=self.context.get_per_slot_batch_size())

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch).sum()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"val_loss": self.model(batch).sum()}
"""


@pytest.fixture
def definition(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "definition"
    (folder / "inner").mkdir(parents=True)
    (folder / "model_def.py").write_text(MODEL)
    (folder / "helper.py").write_text("import torch\ndef make(width): return torch.nn.Linear(2, width)\n")
    (folder / "inner" / "notes.txt").write_text("kept")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "old.pyc").write_text("")
    (folder / "large.bin").write_bytes(b"x" * (2 << 20))
    return folder


def context() -> CheckpointLoadContext:
    return CheckpointLoadContext(hparams={"global_batch_size": 4})


def saved(run: Run) -> pathlib.Path:
    uuid = run.newest_checkpoint()
    assert uuid
    return pathlib.Path(run.storage.place(uuid) or "")


def test_the_state_file_has_the_four_documented_keys(tmp_path: pathlib.Path) -> None:
    state = torch.load(saved(train(EverythingTrial, tmp_path, 3)) / "state-dict.pth", weights_only=False)
    assert set(state) == {"models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "callbacks"}
    assert [len(state[key]) for key in list(state)[:3]] == [2, 2, 2]
    assert list(state["callbacks"]) == ["plateau"]
    plain = torch.load(saved(train(ContextTrial, tmp_path, 1)) / "state-dict.pth", weights_only=False)
    assert plain["callbacks"] == {}


def test_the_state_file_has_the_originals_name_too_and_is_written_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "state-dict.pth").write_bytes(b"")
    _trial_files.add_older_name(tmp_path)
    _trial_files.add_older_name(tmp_path)
    assert (tmp_path / "state_dict.pth").samefile(tmp_path / "state-dict.pth")
    directory = saved(train(ContextTrial, tmp_path, 1))
    state = torch.load(directory / "state_dict.pth", weights_only=False)
    assert list(state["models_state_dict"][0]) == list(ContextTrial(context()).model.state_dict())


def test_a_checkpoint_describes_itself(tmp_path: pathlib.Path) -> None:
    directory = saved(train(ContextTrial, tmp_path, 3))
    described = json.loads((directory / "metadata.json").read_text())
    assert described["steps_completed"] == 3
    assert described["framework"] == "torch-" + torch.__version__.split("+")[0]
    assert described["format"] == "pickle"
    assert described["hparams"] == {"global_batch_size": 4}
    assert described["experiment_config"]["searcher"] == CONFIG["searcher"]
    loading = json.loads((directory / "load_data.json").read_text())
    assert loading["trial_type"] == "PyTorchTrial"
    assert loading["trial_cls_spec"] == "trials:ContextTrial"


def local_run(definition: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Trains a model definition as a trial's process does."""
    from determined._env import EnvContext
    from determined._experiment_config import ExperimentConfig

    config = {**CONFIG, "entrypoint": "model_def:MyTrial"}
    env = EnvContext(
        experiment_config=ExperimentConfig(config), hparams={"global_batch_size": 4, "width": 3}, trial_seed=1
    )
    monkeypatch.chdir(definition)
    monkeypatch.syspath_prepend(str(definition))
    source = _source.SourceSnapshot(str(definition))
    (definition / "downloaded.bin").write_text("not the user's")
    (definition / "helper.py").write_text((definition / "helper.py").read_text() + "# changed while running\n")
    trial_class = _launch.load(env, source)
    storage = _local_run.DirectoryStorage(str(definition.parent / "storage"))
    client = _local_run.LocalClient([4])
    from harness import RULES

    _local_run._run(trial_class, env, client, storage, RULES, source)
    return next(path for path in (definition.parent / "storage").iterdir())


def test_the_source_is_the_submitted_one(definition: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = local_run(definition, monkeypatch) / "code"
    files = {str(path.relative_to(code)) for path in code.rglob("*") if path.is_file()}
    assert files == {"model_def.py", "helper.py", "inner/notes.txt", "large.bin"}
    assert "changed" not in (code / "helper.py").read_text()


def test_a_trial_is_built_again_from_its_files_alone(definition: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = local_run(definition, monkeypatch)
    monkeypatch.chdir("/")
    for name in ("model_def", "helper"):
        sys.modules.pop(name, None)
    trial = load_trial_from_checkpoint_path(str(checkpoint))
    expected = torch.load(checkpoint / "state-dict.pth", weights_only=False)["models_state_dict"][0]
    assert torch.equal(trial.context.models[0].weight, expected["weight"])
    assert trial.context.models[0].out_features == 3
    assert trial.context.optimizers[0].state
    assert trial.context.get_hparam("width") == 3


def test_a_class_can_be_given_instead_of_the_source(tmp_path: pathlib.Path) -> None:
    run = train(ClassicTrial, tmp_path, 2)
    trial = load_trial_from_checkpoint_path(str(saved(run)), trial_class=ClassicTrial)
    assert torch.equal(trial.context.models[0][0].weight, run.context.models[0][0].weight)  # type: ignore[attr-defined]
    with pytest.raises(CheckFailedError, match="code/"):
        load_trial_from_checkpoint_path(str(saved(run)))


class WideTrial(ContextTrial):
    """One whose constructor wants more than the context."""

    def __init__(self, context: Any, hparams: dict[str, Any], depth: int = 1) -> None:
        super().__init__(context)
        self.asked = (hparams, depth)


def test_a_constructor_gets_what_trial_kwargs_holds(tmp_path: pathlib.Path) -> None:
    path = str(saved(train(ContextTrial, tmp_path, 1)))
    trial = load_trial_from_checkpoint_path(path, WideTrial, {"hparams": {"lr": 3}, "depth": 2})
    assert trial.asked == ({"lr": 3}, 2)  # type: ignore[attr-defined]
    assert trial.context.get_hparams() == {"global_batch_size": 4}
    loaded = Checkpoint.load_from_path(path, trial_class=WideTrial, trial_kwargs={"hparams": {}})
    assert loaded.asked == ({}, 1)
    with pytest.raises(TypeError, match=r"WideTrial\(\) is called with .*, depth: .*argument: 'hparams'"):
        load_trial_from_checkpoint_path(path, WideTrial, {"depth": 2})


def test_a_constructor_without_such_parameters_finds_them_in_the_context(tmp_path: pathlib.Path) -> None:
    path = str(saved(train(ContextTrial, tmp_path, 1)))
    trial = load_trial_from_checkpoint_path(path, ContextTrial, {"hparams": {"lr": 3}, "exp_conf": {"data": {"a": 1}}})
    assert (trial.context.get_hparams(), trial.context.get_data_config()) == ({"lr": 3}, {"a": 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        load_trial_from_checkpoint_path(path, ContextTrial, {"width": 3})


PICKLED = """
import pathlib, sys, torch
sys.path[:0] = ["code/inner", "code"]
from nets import Net
torch.save(Net(), "model.pth")
"""


def test_a_checkpoint_with_a_pickled_model_gives_that_model(tmp_path: pathlib.Path) -> None:
    (tmp_path / "code" / "inner").mkdir(parents=True)
    (tmp_path / "code" / "nets.py").write_text("from sizes import Base\nclass Net(Base): pass\n")
    (tmp_path / "code" / "inner" / "sizes.py").write_text(
        "import torch\nclass Base(torch.nn.Module):\n    size = torch.nn.Parameter(torch.ones(3))\n"
    )
    subprocess.run([sys.executable, "-c", PICKLED], cwd=tmp_path, check=True)
    (tmp_path / "metadata.json").write_text(json.dumps({"det_version": "0.12.2", "torch_version": "1.4.0"}))
    path = list(sys.path)
    model = Checkpoint.load_from_path(tmp_path)
    assert torch.equal(model.size, torch.ones(3))
    assert sys.path == path
    assert "nets" not in sys.modules
    with pytest.raises(FileNotFoundError, match=r"of version 0.12.4 or older, .*Checkpoint.load_from_path\(\)"):
        load_trial_from_checkpoint_path(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["state_dict.pth", "determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt"]
)
def test_older_state_files_are_read(name: str, tmp_path: pathlib.Path) -> None:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    old = {
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "rng_state": {"a": 1},
    }
    torch.save(old, tmp_path / name)
    state, rest = _state.read(str(tmp_path))
    assert torch.equal(state["models_state_dict"][0]["weight"], model.weight)
    assert len(state["optimizers_state_dict"]) == 1
    assert (state["lr_schedulers_state_dict"], state["callbacks"]) == ([], {})
    assert rest == {"rng_state": {"a": 1}}


def test_what_is_no_checkpoint_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no state-dict.pth"):
        _state.read(str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no load_data.json"):
        load_trial_from_checkpoint_path(str(tmp_path))


def test_a_checkpoint_of_a_trial_in_cxx_is_named_as_one(tmp_path: pathlib.Path) -> None:
    described = {"language": "c++", "trial_cls_spec": "model_def.cpp:Net", "experiment_config": {}, "hparams": {}}
    (tmp_path / "load_data.json").write_text(json.dumps(described))
    (tmp_path / "code").mkdir()
    with pytest.raises(CheckFailedError, match=r"model_def.cpp:Net, a trial in C\+\+.*pass trial_class"):
        load_trial_from_checkpoint_path(str(tmp_path))


def test_a_checkpoint_of_another_trial_is_refused(tmp_path: pathlib.Path) -> None:
    run = train(ContextTrial, tmp_path, 1)
    with pytest.raises(CheckFailedError, match="a checkpoint with 1 models, expected 2"):
        Run(EverythingTrial, tmp_path, lengths=[1], checkpoint=run.newest_checkpoint()).start()


def test_gradients_wait_in_the_checkpoint_for_their_step(tmp_path: pathlib.Path) -> None:
    config = {"optimizations": {"aggregation_frequency": 3}}
    run = train(ContextTrial, tmp_path, 4, config=config)
    rest = torch.load(saved(run) / "trial-state.pth", weights_only=False)
    gradients = [p.grad for p in run.context.models[0].parameters()]  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(rest["gradients"], gradients, strict=True))
    assert train(ContextTrial, tmp_path, 3, config=config).context.models[0][0].weight.grad is None  # type: ignore[attr-defined]


def test_saving_draws_nothing(tmp_path: pathlib.Path) -> None:
    import random

    class Greedy(ContextTrial):
        def build_callbacks(self) -> Any:
            from determined.pytorch import PyTorchCallback

            class Draw(PyTorchCallback):
                def on_checkpoint_end(self, checkpoint_dir: str) -> None:
                    random.random()
                    torch.rand(1)

            return {"draw": Draw()}

    often = {"min_checkpoint_period": {"batches": 1}}
    assert train(Greedy, tmp_path, 6, config=often).weights() == train(Greedy, tmp_path, 6).weights()


def test_what_a_checkpoint_lacks_is_said(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    run = train(ContextTrial, tmp_path, 1)
    file = saved(run) / "trial-state.pth"
    rest = torch.load(file, weights_only=False)
    rest["rng_state"]["gpu_rng_state"] = torch.zeros(16, dtype=torch.uint8)
    rest["scaler_state_dict"] = {}
    torch.save(rest, file)
    Run(ContextTrial, tmp_path, lengths=[2], checkpoint=run.newest_checkpoint()).start()
    assert torch.cuda.is_available() or "saved on a GPU, and this machine has none" in caplog.text
    assert "was saved with mixed precision, which this trial does not use" in caplog.text
    file.unlink()
    Run(ContextTrial, tmp_path, lengths=[2], checkpoint=run.newest_checkpoint()).start()
    assert "the checkpoint has no random number generators" in caplog.text


@pytest.mark.parametrize(
    ("framework", "format", "files", "message"),
    [
        (
            "tensorflow-2.15.1",
            "saved_model",
            ["model-20.index", "code/saved_model.pb"],
            "c1 holds no SavedModel.*export",
        ),
        ("tensorflow-2.15.1", "checkpoint", ["model-20.index"], "c1 holds no SavedModel, so only its variables"),
        ("tensorflow-2.15.1", "saved_model", ["a/1/saved_model.pb", "b/1/saved_model.pb"], "2 SavedModels.*a/1, b/1"),
        ("", "", ["weights.bin"], r"c1 was not saved by a trial class.*download\(\)"),
    ],
)
def test_what_cannot_be_loaded_is_said_before_it_is_downloaded(
    framework: str, format: str, files: list[str], message: str, tmp_path: pathlib.Path
) -> None:
    resources = dict.fromkeys(files, 1)
    it = Checkpoint.from_json({"uuid": "c1", "framework": framework, "format": format, "resources": resources})
    with pytest.raises(AssertionError, match=message):
        it.load(tmp_path / "there")
    assert not (tmp_path / "there").exists()
