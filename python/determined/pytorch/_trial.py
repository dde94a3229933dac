"""The base class of PyTorch trials."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from determined._train_context import TrialContext
from determined._trial import Trial
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._device import data_length
from determined.pytorch._reducer import Reducer


class PyTorchTrial(Trial):
    """The base class of PyTorch trials. A subclass defines the data, and how to train and to evaluate a batch.

    There are two kinds, which differ in the methods of the subclass:

    - *context*: the constructor wraps models and optimizers (``context.wrap_model``, ``context.wrap_optimizer``);
      ``train_batch(batch, epoch_idx, batch_idx)`` calls ``context.backward`` and ``context.step_optimizer``.
    - *classic*: ``build_model()`` and ``optimizer(model)`` return them, ``create_lr_scheduler(optimizer)`` may return
      an :class:`LRScheduler`; ``train_batch(batch, model, epoch_idx, batch_idx)`` and ``evaluate_batch(batch, model)``
      get the model, and the platform computes gradients of the ``loss`` in the result and steps the optimizer.
    """

    trial_context_class: ClassVar[type[TrialContext]] = PyTorchTrialContext

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """Returns a :class:`determined.pytorch.DataLoader` with the training data."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """Returns a :class:`determined.pytorch.DataLoader` with the validation data."""

    @abc.abstractmethod
    def train_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Trains on one batch and returns a dict of metrics, or a tensor, the loss.

        ``batch_idx`` counts this slot's batches since the start of training.
        """

    def evaluate_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the metrics of one validation batch as a dict; they are reduced by ``evaluation_reducer``."""
        raise NotImplementedError("evaluate_batch")

    def evaluate_full_dataset(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the metrics of the whole validation set, given a PyTorch loader over it; on one slot only."""
        raise NotImplementedError("evaluate_full_dataset")

    def evaluation_reducer(self) -> Reducer | Mapping[str, Reducer]:
        """Returns how to reduce the metrics of batches to those of a validation: one reducer, or one per name."""
        return Reducer.AVG

    def build_callbacks(self) -> dict[str, Any]:
        """Returns callbacks by name."""
        return {}

    def get_batch_length(self, batch: Any) -> int:
        """Returns the number of records in a batch; override it for other types of batches."""
        return data_length(batch)


def reset_parameters(model: nn.Module) -> None:
    """Draws new initial values for every part of a model that has a ``reset_parameters`` method."""
    for module in model.modules():
        reset = getattr(module, "reset_parameters", None)
        if callable(reset):
            reset()
