"""Both generations of trials."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from harness import Run, train
from torch import nn
from trials import ClassicTrial, ContextTrial, Points

from determined import errors
from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined.common.check import CheckFailedError
from determined.pytorch import (
    ClipGradsL2Norm,
    ClipGradsL2Value,
    DataLoader,
    PyTorchCallback,
    PyTorchTrial,
    PyTorchTrialContext,
)


def test_both_generations_of_one_model_give_the_same_numbers(tmp_path: pathlib.Path) -> None:
    classic, context = (train(kind, tmp_path, 20) for kind in (ClassicTrial, ContextTrial))
    assert classic.numbers() == context.numbers()
    assert classic.weights() == context.weights()


def test_the_loop_gives_the_numbers_of_a_bare_loop(tmp_path: pathlib.Path) -> None:
    class Plain(ContextTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(nn.Linear(2, 2))
            self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

    run = train(Plain, tmp_path, 10)
    torch.manual_seed(run.env.trial_seed)
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [*torch.utils.data.DataLoader(Points(28), batch_size=4)] * 2
    losses = []
    for inputs, labels in batches[:10]:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    reported = run.numbers()[("training", 10)]
    assert [row["loss"] for row in reported["batch_metrics"]] == losses
    assert reported["avg_metrics"]["loss"] == pytest.approx(sum(losses) / 10)


def test_an_attribute_called_optimizer_does_not_make_a_trial_classic(tmp_path: pathlib.Path) -> None:
    run = train(ContextTrial, tmp_path, 1)
    assert isinstance(run.trial.optimizer, torch.optim.Optimizer)


@pytest.mark.parametrize(
    ("average", "own", "step"), [(True, None, 1.0), (False, None, 3.0), (True, False, 3.0), (False, True, 1.0)]
)
def test_aggregation_averages_the_gradients_of_several_batches(
    average: bool, own: bool | None, step: float, tmp_path: pathlib.Path
) -> None:
    class Sum(ContextTrial):
        def __init__(self, context: Any) -> None:
            self.context = context
            self.model = context.wrap_model(nn.Linear(1, 1, bias=False))
            sgd = torch.optim.SGD(self.model.parameters(), lr=1.0)
            self.optimizer = context.wrap_optimizer(sgd, average_aggregated_gradients=own)
            self.model.weight.data.fill_(0.0)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            self.context.backward(self.model(torch.tensor([[float(batch_idx)]])).sum())
            self.context.step_optimizer(self.optimizer)
            return {"weight": self.model.weight.item()}

    optimizations = {"aggregation_frequency": 3, "average_aggregated_gradients": average}
    run = Run(Sum, tmp_path, lengths=[4], config={"optimizations": optimizations}).start()
    _, rows = run.controller.train(4)
    assert [row["weight"] for row in rows] == pytest.approx([0.0, 0.0, -step, -step])


@pytest.mark.parametrize(
    ("configured", "own", "compressed"), [(False, True, True), (True, None, True), (True, False, False)]
)
def test_an_optimizer_may_say_itself_whether_its_gradients_travel_in_half_precision(
    configured: bool, own: bool | None, compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = PyTorchTrialContext(
        EnvContext(
            experiment_config=ExperimentConfig({"optimizations": {"gradient_compression": configured}}),
            hparams={"global_batch_size": 1}, trial_seed=1, use_gpu=False,
        )
    )  # fmt: skip
    asked: list[Any] = []
    monkeypatch.setattr(
        "determined.pytorch._gradients.GradientExchange", lambda *_, compress, **__: asked.append(compress)
    )
    context.distributed.watch = object()  # as where there are several ranks
    context.wrap_optimizer(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1), 1, own)
    assert asked == [compressed]


@pytest.mark.parametrize("result", [{"loss": torch.tensor(1.0)}, torch.tensor(1.0)])
def test_the_context_generation_may_return_a_tensor_or_a_dict(result: Any, tmp_path: pathlib.Path) -> None:
    class Constant(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            return result

    assert train(Constant, tmp_path, 1).numbers()[("training", 1)]["avg_metrics"] == {"loss": 1.0}


def test_batch_idx_and_epoch_idx_count_over_the_whole_trial(tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []

    class Counting(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            context = self.context
            assert (context.current_train_epoch(), context.current_train_batch()) == (epoch_idx, batch_idx)
            seen.append((epoch_idx, batch_idx, context.is_epoch_start(), context.is_epoch_end()))
            return super().train_batch(batch, epoch_idx, batch_idx)

    first = Run(Counting, tmp_path, lengths=[16], config={"scheduling_unit": 5}, preempt_after=10).start().finish()
    resumed = Run(Counting, tmp_path, lengths=[16], checkpoint=first.drop()).start()
    assert resumed.context.get_initial_batch() == 10
    resumed.finish()
    assert seen == [(i // 7, i, i % 7 == 0, i % 7 == 6) for i in range(16)]


def test_positions_have_no_answer_before_the_first_batch(tmp_path: pathlib.Path) -> None:
    run = Run(ContextTrial, tmp_path, lengths=[1])
    with pytest.raises(errors.InternalException, match="is_epoch_start"):
        run.context.is_epoch_start()  # type: ignore[attr-defined]


def test_evaluate_full_dataset_gets_the_whole_set(tmp_path: pathlib.Path) -> None:
    class Whole(ContextTrial):
        evaluate_batch = PyTorchTrial.evaluate_batch  # type: ignore[assignment]

        def evaluate_full_dataset(self, data_loader: Any) -> Any:
            assert not torch.is_grad_enabled()
            return {"val_loss": torch.tensor(float(len(data_loader.dataset)))}

    assert train(Whole, tmp_path, 1).numbers()[("validation", 1)] == {"val_loss": 12.0}


def test_evaluate_batch_gets_its_number_where_it_asks_for_it(tmp_path: pathlib.Path) -> None:
    class Numbered(ContextTrial):
        def evaluate_batch(self, batch: Any, batch_idx: int) -> Any:  # type: ignore[override]
            return {"val_loss": float(batch_idx)}

    class ByPosition(ContextTrial):
        def evaluate_batch(self, batch: Any, number: int) -> Any:  # type: ignore[override]
            return {"val_loss": float(number)}

    for kind in (Numbered, ByPosition):
        assert train(kind, tmp_path, 1).numbers()[("validation", 1)] == {"val_loss": 1.0}


def test_classic_trials_clip_by_callbacks_or_hyperparameters(tmp_path: pathlib.Path) -> None:
    norms: list[float] = []

    class Watched(torch.optim.SGD):
        def step(self, closure: Any = None) -> None:
            gradients = [p.grad for group in self.param_groups for p in group["params"]]
            norms.append(torch.cat([g.flatten() for g in gradients]).norm().item())

    class Clipped(ClassicTrial):
        def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
            return Watched(model.parameters(), lr=0.1)

        def build_callbacks(self) -> dict[str, Any]:
            norm = self.context.get_hparams().get("norm")
            return {"clip": ClipGradsL2Norm(norm), "more": ClipGradsL2Value(1.0)} if norm else {}

    train(Clipped, tmp_path, 3, config={"hyperparameters": {"norm": 0.01}})
    train(Clipped, tmp_path, 3, config={"hyperparameters": {"clip_grad_l2_norm": 0.01}})
    train(Clipped, tmp_path, 3, config={"hyperparameters": {"clip_grad_val": 1e-9}})
    assert norms[:6] == pytest.approx([0.01] * 6, rel=1e-3)
    assert max(norms[6:]) < 1e-7
    with pytest.raises(CheckFailedError, match="at most one"):
        train(Clipped, tmp_path, 1, config={"hyperparameters": {"clip_grad_val": 1, "clip_grad_l2_norm": 1}})


def test_clipping_that_never_happens_is_warned_about(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    class Clipped(ContextTrial):
        def build_callbacks(self) -> dict[str, Any]:
            return {"clip": ClipGradsL2Norm(1.0), "quiet": PyTorchCallback()}

    train(Clipped, tmp_path, 2)
    (said,) = [text for text in caplog.messages if "on_before_optimizer_step" in text]
    assert said.startswith("callback 'clip' (ClipGradsL2Norm) has on_before_optimizer_step(), which is called only")
    assert said.endswith("clip gradients with context.step_optimizer(optimizer, clip_grads=...)")


def test_a_classic_optimizer_may_ask_how_long_an_epoch_is(tmp_path: pathlib.Path) -> None:
    asked: list[str] = []

    class Counting(ClassicTrial):
        def build_model(self) -> Any:
            asked.append("model")
            return super().build_model()

        def build_training_data_loader(self) -> DataLoader:
            asked.append("training loader")
            self.loader = super().build_training_data_loader()
            return self.loader

        def build_validation_data_loader(self) -> DataLoader:
            asked.append("validation loader")
            return super().build_validation_data_loader()

        def optimizer(self, model: Any) -> Any:
            asked.append(f"optimizer, {len(self.loader)} batches")
            return super().optimizer(model)

        def create_lr_scheduler(self, optimizer: Any) -> None:
            asked.append("scheduler")

        def build_callbacks(self) -> Any:
            asked.append("callbacks")
            return {}

    train(Counting, tmp_path, 1)
    assert asked == [
        "model",
        "training loader",
        "validation loader",
        "optimizer, 7 batches",
        "scheduler",
        "callbacks",
    ]


def test_a_stream_without_a_length_is_one_epoch_that_is_begun_anew_at_its_end(tmp_path: pathlib.Path) -> None:
    class Stream(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Any:
            points = Points(8)
            return iter([points[index] for index in range(8)])

    ends: list[bool] = []

    class Streaming(ContextTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.experimental.disable_dataset_reproducibility_checks()

        def build_training_data_loader(self) -> DataLoader:
            return torch.utils.data.DataLoader(Stream(), batch_size=4)  # type: ignore[return-value]

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            ends.append(self.context.is_epoch_end())
            assert epoch_idx == 0
            return super().train_batch(batch=batch, epoch_idx=epoch_idx, batch_idx=batch_idx)

    assert ("training", 5) in train(Streaming, tmp_path, 5).numbers()
    assert ends == [False] * 5


def test_a_trial_that_asks_to_stop_is_saved_and_ends(tmp_path: pathlib.Path) -> None:
    class Tired(ContextTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            if batch_idx == 5:
                self.context.set_stop_requested(True)
            return super().train_batch(batch, epoch_idx, batch_idx)

    run = train(Tired, tmp_path, 30, config={"scheduling_unit": 4})
    assert run.client.early_exit == "EXITED_REASON_USER_REQUESTED_STOP"
    assert [(kind, batches) for kind, batches, _ in run.client.reports][-1] == ("checkpoint", 8)
    with pytest.raises(AssertionError, match="True or False"):
        run.context.set_stop_requested(1)  # type: ignore[arg-type]
