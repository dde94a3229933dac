"""Horovod's functions about ranks, for code that was written for trials on Horovod.

``from determined.horovod import hvd`` and ``hvd.rank()``, ``hvd.size()``, ``hvd.local_rank()`` work as they did. The
platform exchanges gradients itself (docs/decisions/0015); Horovod's functions on tensors raise an error.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from determined._env import integer

__all__ = ["HorovodContext", "hvd"]


def _in_torchrun() -> bool:
    """Whether a launch layer started this process; then the agent's variables describe the machine, and those of
    torchrun the rank.
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


class _Hvd:
    """The ranks of this trial, under Horovod's names. Outside a trial there is one rank."""

    def init(self) -> None:
        """Does nothing: ranks are connected before any code of a model definition runs."""

    def is_initialized(self) -> bool:
        return True

    def shutdown(self) -> None:
        """Does nothing: the platform ends the ranks."""

    def rank(self) -> int:
        return integer(os.environ, "RANK" if _in_torchrun() else "DET_RANK", 0)

    def size(self) -> int:
        return integer(os.environ, "WORLD_SIZE" if _in_torchrun() else "DET_SIZE", 1)

    def local_rank(self) -> int:
        return integer(os.environ, "LOCAL_RANK" if _in_torchrun() else "DET_LOCAL_RANK", 0)

    def local_size(self) -> int:
        return integer(os.environ, "DET_LOCAL_SIZE", self.size())

    def cross_rank(self) -> int:
        return integer(os.environ, "DET_CROSS_RANK", 0)

    def cross_size(self) -> int:
        return max(1, self.size() // self.local_size())

    def require_horovod_type(self, horovod_type: str, reason: str) -> None:
        """Accepts every type, because nothing here depends on a framework."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"hvd.{name} is not available: the platform exchanges gradients and metrics itself; use wrap_optimizer(), "
            "reducers or context.distributed"
        )


hvd = _Hvd()


@dataclasses.dataclass(frozen=True)
class HorovodContext:
    """How a trial trains on several slots, under the names of older contexts (``hvd_config``)."""

    use: bool = False
    aggregation_frequency: int = 1
    fp16_compression: bool = False
    average_aggregated_gradients: bool = True
    average_training_metrics: bool = True

    @staticmethod
    def from_configs(experiment_config: Mapping[str, Any], *_: Any) -> HorovodContext:
        """Reads ``optimizations`` and ``resources`` of an experiment configuration."""
        wanted = dict(experiment_config.get("optimizations") or {})
        known = {field.name for field in dataclasses.fields(HorovodContext)} - {"use"}
        slots = (experiment_config.get("resources") or {}).get("slots_per_trial", 1)
        return HorovodContext(use=slots > 1, **{name: wanted[name] for name in known & set(wanted)})
