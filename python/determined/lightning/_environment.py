"""The processes of the trial, as Lightning asks for them."""

from __future__ import annotations

import os

from determined.core._context import Context
from determined.lightning._library import ClusterEnvironment


class DetEnvironment(ClusterEnvironment):  # type: ignore[misc]
    """Tells Lightning the ranks of the platform. Start the script with ``determined.launch.torch_distributed``."""

    def __init__(self, core_context: Context) -> None:
        super().__init__()
        self._ranks = core_context.distributed

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self) -> int:
        return int(os.environ.get("MASTER_PORT", "29500"))

    @staticmethod
    def detect() -> bool:
        return "DET_ALLOCATION_ID" in os.environ and "RANK" in os.environ

    def world_size(self) -> int:
        return self._ranks.size

    def set_world_size(self, size: int) -> None:
        if size != self._ranks.size:
            raise ValueError(
                f"Lightning wants {size} processes, and the trial has {self._ranks.size}; do not set devices"
            )

    def global_rank(self) -> int:
        return self._ranks.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return self._ranks.local_rank

    def node_rank(self) -> int:
        return self._ranks.cross_rank
