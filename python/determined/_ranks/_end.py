"""How a trial with several ranks ends after an error: the rank with the error explains it, and the others follow."""

from __future__ import annotations

import sys
from collections.abc import Callable

from determined import _failure
from determined._ranks import _watch
from determined._ranks._distributed import DistributedContext


def first(ranks: DistributedContext, kind: str, text: str) -> bool:
    """Whether this rank is the first to end, so that it may explain why; it calls ``told`` afterwards."""
    return ranks.watch is None or bool(ranks.watch.claim(kind, text))


def told(ranks: DistributedContext) -> None:
    if ranks.watch is not None:
        ranks.watch.told()


def shared(ranks: DistributedContext, gone: type[Exception], work: Callable[[], int]) -> int:
    """Runs the work of one rank. Only the first rank that fails prints its error.

    Raises:
        BaseException: the error of the work, if there are no other ranks.
    """
    watch: _watch.Watch | None = ranks.watch
    if watch is None:
        return work()
    try:
        return work()
    except gone:
        watch.claim("gone", "the master has ended the allocation")
        watch.told()
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _failed(ranks, watch, error)


def followed(ranks: DistributedContext, watch: _watch.Watch, error: BaseException) -> bool:
    """Whether the error follows from another rank's end, which is printed in one line; otherwise the caller prints it
    in full.
    """
    what = _one_line(error)
    if _watch.is_lost_peer(error):
        watch.follow()
        print(f"rank {ranks.rank} ends because it lost another rank ({what})", file=sys.stderr, flush=True)
        if watch.claim("lost", what):
            watch.told(ranks.size - 2)
        return True
    if not watch.claim("failed", what):
        watch.follow()
        print(f"rank {ranks.rank} failed, too: {what}", file=sys.stderr, flush=True)
        return True
    return False


def _failed(ranks: DistributedContext, watch: _watch.Watch, error: BaseException) -> int:
    if followed(ranks, watch, error):
        return _watch.EXIT_FOLLOWED
    print(f"rank {ranks.rank} of {ranks.size} failed:", file=sys.stderr)
    _failure.report(error)
    watch.told()
    return 1


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
