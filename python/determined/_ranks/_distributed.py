"""The processes of one trial."""

from __future__ import annotations

from typing import Any


class DistributedContext:
    """Identifies this process among those of the trial, and exchanges values with the others. Rank 0 is the chief,
    which alone reports and saves.

    ``rank`` counts over all machines, ``local_rank`` over this one; ``cross_rank`` is the number of this machine among
    the ``cross_size`` machines of the trial. Every rank must make the calls that exchange values (for those that end in
    ``_local``: every rank of this machine), in the same order. Any value that can be pickled can be exchanged.
    """

    watch: Any = None
    """Watches the ranks, if they are connected."""

    def __init__(
        self,
        *,
        rank: int = 0,
        size: int = 1,
        local_rank: int = 0,
        local_size: int = 1,
        cross_rank: int | None = None,
        cross_size: int | None = None,
    ) -> None:
        self.rank = rank
        self.size = size
        self.local_rank = local_rank
        self.local_size = local_size
        self.cross_rank = rank // local_size if cross_rank is None else cross_rank
        self.cross_size = max(1, size // local_size) if cross_size is None else cross_size

    def get_rank(self) -> int:
        """Returns the number of this process, unique in the trial."""
        return self.rank

    def get_local_rank(self) -> int:
        """Returns the number of this process, unique in the trial on this machine."""
        return self.local_rank

    def get_size(self) -> int:
        """Returns the number of the trial's slots."""
        return self.size

    def get_num_agents(self) -> int:
        """Returns the number of the trial's machines."""
        return self.cross_size

    @property
    def is_chief(self) -> bool:
        return self.rank == 0

    def allgather(self, value: Any) -> list[Any]:
        """Returns one value of each rank, in the order of ranks."""
        return [value]

    def gather(self, value: Any) -> list[Any] | None:
        """Like ``allgather``, for the chief only; the others get None."""
        return [value]

    def broadcast(self, value: Any) -> Any:
        """Returns the chief's value on every rank."""
        return value

    def allgather_local(self, value: Any) -> list[Any]:
        """Returns one value of each rank on this machine."""
        return [value]

    def gather_local(self, value: Any) -> list[Any] | None:
        """Like ``allgather_local``, for local rank 0 only; the others get None."""
        return [value]

    def broadcast_local(self, value: Any) -> Any:
        """Returns the value of local rank 0 on every rank of this machine."""
        return value

    def note(self, doing: str) -> None:
        """Describes what this rank is doing now; shown if the ranks wait for each other for too long."""
        if self.watch is not None:
            self.watch.note(doing)

    def announce(self, value: Any) -> Any:
        """Like ``broadcast``, without a limit on how long the chief may take to evaluate, save or wait for the
        searcher.
        """
        return value
