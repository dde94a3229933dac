"""The processes of one trial."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistributedContext:
    """Which process of the trial this is. Rank 0 is the chief: it alone reports and saves."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def cross_rank(self) -> int:
        """The machine's number among the machines of the trial."""
        return self.rank // self.local_size

    @property
    def cross_size(self) -> int:
        return self.size // self.local_size

    def get_rank(self) -> int:
        """The number of this process, unique in the trial."""
        return self.rank

    def get_local_rank(self) -> int:
        """The number of this process, unique in the trial on this machine."""
        return self.local_rank

    def get_size(self) -> int:
        """How many slots the trial trains on."""
        return self.size

    def get_num_agents(self) -> int:
        """How many machines the trial trains on."""
        return self.cross_size

    def allgather(self, value: Any) -> list[Any]:
        """One value of each rank, in the order of ranks."""
        return [value]

    def gather(self, value: Any) -> list[Any] | None:
        """As ``allgather``, for the chief only; the others get None."""
        return [value]

    def broadcast(self, value: Any) -> Any:
        """The chief's value, on every rank."""
        return value
