"""PyTorch trials: subclass :class:`PyTorchTrial` and train it on one slot or on many."""

from determined.pytorch import samplers
from determined.pytorch._callback import ClipGradsL2Norm, ClipGradsL2Value, PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._controller import PyTorchTrialController
from determined.pytorch._data import DataLoader
from determined.pytorch._device import TorchData, data_length, to_device
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._load import load_trial_from_checkpoint_path
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._lr_scheduler import StepMode as LRSchedulerStepMode
from determined.pytorch._metric_reducer import MetricReducer
from determined.pytorch._reducer import Reducer
from determined.pytorch._trainer import Batch, Epoch, Trainer, TrainUnit
from determined.pytorch._trainer_context import CheckpointLoadContext, init
from determined.pytorch._trial import PyTorchTrial, reset_parameters
from determined.pytorch.samplers import (
    DistributedBatchSampler,
    RepeatBatchSampler,
    SkipBatchSampler,
    adapt_batch_sampler,
)

__all__ = [
    "Batch",
    "CheckpointLoadContext",
    "ClipGradsL2Norm",
    "ClipGradsL2Value",
    "DataLoader",
    "DistributedBatchSampler",
    "Epoch",
    "LRScheduler",
    "LRSchedulerStepMode",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "PyTorchTrialController",
    "Reducer",
    "RepeatBatchSampler",
    "SkipBatchSampler",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "adapt_batch_sampler",
    "data_length",
    "init",
    "load_trial_from_checkpoint_path",
    "reset_parameters",
    "samplers",
    "to_device",
]
