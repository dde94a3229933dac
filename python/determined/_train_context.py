"""The base of the contexts of trials."""

from __future__ import annotations

import logging
import pathlib
from collections.abc import Mapping
from typing import Any, TypeVar

from determined._env import EnvContext
from determined._experiment_config import ExperimentConfig
from determined._ranks._distributed import DistributedContext
from determined.tensorboard._board import get_base_path

logger = logging.getLogger("determined")

Self = TypeVar("Self", bound="TrialContext")


class TrialContext:
    """The trial's view of the platform: hyperparameters, data configuration, seed, ranks.

    It is the only argument of a trial's constructor, which usually stores it as ``self.context``.
    """

    def __init__(self, env: EnvContext, distributed: DistributedContext | None = None) -> None:
        self.env = env
        self.distributed = distributed or DistributedContext(
            rank=env.rank, size=env.size, local_rank=env.local_rank, local_size=env.local_size
        )
        self._stop_requested = False
        self._initial_batch = 0 if env.warm_start else env.steps_completed

    @classmethod
    def from_config(cls: type[Self], config: Mapping[str, Any]) -> Self:
        """Creates a context outside a cluster, for debugging.

        Hyperparameters with a range get a random value from it. Nothing is reported or saved.

        Example::

            context = PyTorchTrialContext.from_config({"hyperparameters": {"global_batch_size": 32, "lr": 0.1}})
            trial = MyTrial(context)
        """
        return cls(EnvContext.for_debugging(config, managed=False))

    def get_hparam(self, name: str) -> Any:
        """Returns the value of a hyperparameter in this trial.

        Raises:
            ValueError: the experiment configuration has no such hyperparameter.
        """
        if name not in self.env.hparams:
            known = ", ".join(sorted(self.env.hparams)) or "none"
            raise ValueError(
                f"hyperparameter {name!r} is not in the hyperparameters section of the experiment "
                f"configuration; the known ones are: {known}"
            )
        if name == "global_batch_size":
            logger.warning(
                "use context.get_per_slot_batch_size() or context.get_global_batch_size() for the batch size: "
                "they take the number of slots into account"
            )
        return self.env.hparams[name]

    def get_hparams(self) -> dict[str, Any]:
        """Returns all hyperparameters by name."""
        return self.env.hparams

    def get_data_config(self) -> dict[str, Any]:
        """Returns the ``data`` section of the experiment configuration."""
        return self.env.experiment_config.get_data()

    def get_experiment_config(self) -> ExperimentConfig:
        return self.env.experiment_config

    def get_experiment_id(self) -> int:
        """Returns the experiment's id; 1 outside a cluster."""
        return self.env.experiment_id

    def get_trial_id(self) -> int:
        """Returns the trial's id; 1 outside a cluster."""
        return self.env.trial_id

    def get_trial_seed(self) -> int:
        return self.env.trial_seed

    def get_global_batch_size(self) -> int:
        """Returns the number of records per batch over all slots."""
        return self.env.global_batch_size

    def get_per_slot_batch_size(self) -> int:
        """Returns the number of records per batch on this slot: the ``batch_size`` of a data loader."""
        return self.env.per_slot_batch_size

    def get_initial_batch(self) -> int:
        """Returns the number of batches that were trained before this process started."""
        return self._initial_batch

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns a directory of this process for TensorBoard files. The chief's are stored with the checkpoints."""
        return get_base_path()

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Requests the end of this trial. It ends after the current workload, and after saving a checkpoint.

        Raises:
            AssertionError: ``stop_requested`` is not a bool.
        """
        if not isinstance(stop_requested, bool):
            raise AssertionError(f"stop_requested is {stop_requested!r}; it must be True or False")
        logger.info("the trial %s", "requested its own stop" if stop_requested else "withdrew its request to stop")
        self._stop_requested = stop_requested

    def get_rank(self) -> int:
        return self.distributed.get_rank()

    def get_local_rank(self) -> int:
        return self.distributed.get_local_rank()

    def get_size(self) -> int:
        return self.distributed.get_size()

    def get_num_agents(self) -> int:
        return self.distributed.get_num_agents()


class NativeContext(TrialContext):
    """The base of the contexts of scripts of the Native API."""
