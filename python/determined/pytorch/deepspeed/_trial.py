"""The base class of DeepSpeed trials."""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from determined._train_context import TrialContext
from determined._trial import Trial
from determined.pytorch._device import data_length
from determined.pytorch._reducer import Reducer
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext


class DeepSpeedTrial(Trial):
    """The base class of trials that train with DeepSpeed. A subclass builds engines in its constructor, and defines the
    data and how to train and to evaluate a batch.

    Example::

        class MyTrial(DeepSpeedTrial):
            def __init__(self, context):
                super().__init__(context)
                model = Net()
                engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
                self.engine = context.wrap_model_engine(engine)

            def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
                inputs, labels = self.context.to_device(next(dataloader_iter))
                loss = cross_entropy(self.engine(inputs), labels)
                self.engine.backward(loss)
                self.engine.step()
                return {"loss": loss}
    """

    trial_context_class: ClassVar[type[TrialContext]] = DeepSpeedTrialContext

    def __init__(self, context: DeepSpeedTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Returns a :class:`determined.pytorch.DataLoader` with the training data, in batches of
        ``context.train_micro_batch_size_per_gpu``; None where the engine has its own.
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Returns a :class:`determined.pytorch.DataLoader` with the validation data; None where the trial reads the
        data itself: ``evaluate_batch`` is then called once.
        """

    @abc.abstractmethod
    def train_batch(self, dataloader_iter: Iterator[Any] | None, epoch_idx: int, batch_idx: int) -> Any:
        """Trains and returns a dict of metrics, or a tensor, the loss. Ranks that report nothing may return None.

        Called once per micro-batch, which it takes from the iterator; with pipelines, and after
        ``context.disable_auto_grad_accumulation()``, once per batch. ``batch_idx`` counts batches since the start of
        training.
        """

    @abc.abstractmethod
    def evaluate_batch(self, dataloader_iter: Iterator[Any] | None, batch_idx: int) -> Any:
        """Returns the metrics of one validation batch as a dict; they are reduced by ``evaluation_reducer``."""

    def evaluation_reducer(self) -> Reducer | Mapping[str, Reducer]:
        """Returns how to reduce the metrics of batches to those of a validation: one reducer, or one per name."""
        return Reducer.AVG

    def build_callbacks(self) -> dict[str, Any]:
        """Returns callbacks by name, which are instances of :class:`determined.pytorch.PyTorchCallback`."""
        return {}

    def get_batch_length(self, batch: Any) -> int:
        """Returns the number of records in a micro-batch; override it for other types of batches."""
        return data_length(batch)

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Saves all engines into a directory. Called on every rank; those of a machine get the same directory. Override
        it together with :meth:`load` to save them in another way.
        """
        for number, engine in enumerate(context.models):
            engine.save_checkpoint(str(path), tag=f"model{number}")  # type: ignore[operator]

    def load(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Restores all engines from a directory with what :meth:`save` has written on all ranks. Called on every
        rank.
        """
        weights = context.loads_weights_only
        for number, engine in enumerate(context.models):
            found, _ = engine.load_checkpoint(  # type: ignore[operator]
                str(path),
                tag=f"model{number}",
                load_module_only=weights,
                load_optimizer_states=not weights,
                load_lr_scheduler_states=not weights,
            )
            if found is None:
                raise FileNotFoundError(f"DeepSpeed finds no model{number} in the checkpoint {path}")
