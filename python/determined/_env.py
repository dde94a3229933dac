"""The environment of a process of a trial."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
from collections.abc import Mapping
from typing import Any

from determined import _hyperparameters
from determined._experiment_config import ExperimentConfig

logger = logging.getLogger("determined")

_DEBUGGING_DEFAULTS: dict[str, Any] = {
    "searcher": {"name": "single", "max_length": {"batches": 100}, "smaller_is_better": True},
    "scheduling_unit": 100,
    "records_per_epoch": 0,
    "resources": {"slots_per_trial": 1, "native_parallel": False},
    "optimizations": {
        "aggregation_frequency": 1,
        "average_aggregated_gradients": True,
        "average_training_metrics": True,
        "gradient_compression": False,
        "mixed_precision": "O0",
        "tensor_fusion_threshold": 64,
        "tensor_fusion_cycle_time": 1,
        "auto_tune_tensor_fusion": False,
        "grad_updates_size_file": None,
    },
    "profiling": {"enabled": False},
}
"""The defaults of a configuration outside a cluster."""


@dataclasses.dataclass(frozen=True)
class EnvContext:
    """The facts about this process: its trial, the hyperparameters and its rank.

    ``global_batch_size`` is the effective value: it is rounded down to a multiple of the number of slots, with a
    warning.
    """

    experiment_config: ExperimentConfig
    hparams: dict[str, Any]
    trial_seed: int
    experiment_id: int = 1
    trial_id: int = 1
    trial_run_id: int = 1
    managed_training: bool = True
    test_mode: bool = False
    container_gpus: tuple[str, ...] = ()
    use_gpu: bool = True
    latest_checkpoint: str | None = None
    warm_start: bool = False
    steps_completed: int = 0  # according to the checkpoint from which the trial resumes
    rank: int = 0
    local_rank: int = 0
    size: int = 1
    local_size: int = 1
    cross_rank: int = 0
    global_batch_size: int = dataclasses.field(init=False)
    per_slot_batch_size: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        native_parallel = self.experiment_config.native_parallel_enabled()
        if native_parallel and self.size > 1 and self.rank == 0:
            logger.warning("resources.native_parallel is ignored: each slot runs a process of its own")
        native_parallel = native_parallel and self.size == 1
        per_slot, effective = split_batch(self.hparams, self.size, native_parallel=native_parallel, warn=self.rank == 0)
        object.__setattr__(self, "per_slot_batch_size", per_slot)
        object.__setattr__(self, "global_batch_size", effective)

    @staticmethod
    def from_environment(environment: Mapping[str, str]) -> EnvContext:
        """Reads the ``DET_*`` variables that the agent sets.

        Raises:
            ValueError: a variable is missing or invalid.
        """
        config = ExperimentConfig(_json(environment, "DET_EXPERIMENT_CONFIG"))
        size = integer(environment, "DET_SIZE", 1)
        return EnvContext(
            experiment_config=config,
            hparams=_json(environment, "DET_HPARAMS"),
            trial_seed=integer(environment, "DET_TRIAL_SEED"),
            experiment_id=integer(environment, "DET_EXPERIMENT_ID"),
            trial_id=integer(environment, "DET_TRIAL_ID"),
            trial_run_id=integer(environment, "DET_TRIAL_RUN_ID", 1),
            latest_checkpoint=environment.get("DET_LATEST_CHECKPOINT") or None,
            warm_start=environment.get("DET_WARM_START", "") == "1",
            steps_completed=integer(environment, "DET_STEPS_COMPLETED", 0),
            rank=integer(environment, "DET_RANK", 0),
            local_rank=integer(environment, "DET_LOCAL_RANK", 0),
            size=size,
            local_size=integer(environment, "DET_LOCAL_SIZE", size),
            cross_rank=integer(environment, "DET_CROSS_RANK", 0),
        )

    @staticmethod
    def for_debugging(config: Mapping[str, Any], *, managed: bool, hparams: dict[str, Any] | None = None) -> EnvContext:
        """An environment outside a cluster: one slot, and hyperparameters drawn from the ranges of the configuration.

        Settings that need a cluster (``resources``, ``optimizations``, storage, mounts) are replaced by one slot and
        the defaults, so that a trial finds these sections as on a cluster.
        """
        ignored = ("bind_mounts", "checkpoint_storage", "environment", "resources", "optimizations")
        given = {key: value for key, value in config.items() if key not in ignored}
        kept = ExperimentConfig({**copy.deepcopy(_DEBUGGING_DEFAULTS), **given})
        dropped = [key for key in ignored if key in config]
        if dropped:
            logger.info("ignored outside a cluster: %s", ", ".join(dropped))
        seed = kept.experiment_seed()
        if hparams is None:
            hparams = _hyperparameters.sample(config.get("hyperparameters") or {}, seed)
        return EnvContext(
            experiment_config=kept, hparams=hparams, trial_seed=seed, managed_training=managed, test_mode=managed
        )


def split_batch(
    hparams: Mapping[str, Any], slots: int, *, native_parallel: bool = False, warn: bool = True
) -> tuple[int, int]:
    """Returns the batch size of one slot, and that of all slots together."""
    if "global_batch_size" not in hparams:
        raise AssertionError(
            "hyperparameters.global_batch_size is missing; every trial needs it, so add it to the configuration"
        )
    wanted = hparams["global_batch_size"]
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        raise AssertionError(f"hyperparameters.global_batch_size is {wanted!r}; it must be a whole number")
    if wanted < slots or wanted < 1:
        raise AssertionError(
            f"hyperparameters.global_batch_size is {wanted}; it must be at least the number of slots, {slots}"
        )
    if "batch_size" in hparams and warn:
        logger.warning("hyperparameters.batch_size is ignored; set hyperparameters.global_batch_size instead")
    if native_parallel:
        return wanted, wanted
    per_slot = wanted // slots
    if per_slot * slots != wanted and warn:
        logger.warning(
            "hyperparameters.global_batch_size is %d, which is not a multiple of the %d slots; %d is used instead",
            wanted,
            slots,
            per_slot * slots,
        )
    return per_slot, per_slot * slots


def integer(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Returns the whole number in a variable; ``default`` if it is not set."""
    text = environment.get(name, "")
    if not text:
        if default is None:
            raise ValueError(f"environment variable {name} is not set; the agent sets it when it starts a trial")
        return default
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"environment variable {name} is {text!r}; it must be a whole number") from None


def _json(environment: Mapping[str, str], name: str) -> dict[str, Any]:
    text = environment.get(name, "")
    if not text:
        raise ValueError(f"environment variable {name} is not set; the agent sets it when it starts a trial")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"environment variable {name} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"environment variable {name} is a JSON {type(value).__name__}; it must be a JSON object")
    return value
