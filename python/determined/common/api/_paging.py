"""Lists of the generated client, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from determined._compat import StrEnum

if TYPE_CHECKING:
    from determined.common.api import bindings


class PageOpts(StrEnum):
    """How many pages to read."""

    single = "1"
    all = "all"


class _Page(Protocol):
    @property
    def pagination(self) -> bindings.v1Pagination | None: ...


Page = TypeVar("Page", bound=_Page)


def read_paginated(
    get_with_offset: Callable[[int], Page], offset: int = 0, pages: PageOpts = PageOpts.all
) -> Iterator[Page]:
    """Iterates over the replies of a call that lists objects; `get_with_offset` makes the call.

    Example::

        def page(offset):
            return bindings.get_GetExperiments(session, offset=offset, limit=100)

        experiments = [experiment for reply in read_paginated(page) for experiment in reply.experiments]
    """
    while True:
        page = get_with_offset(offset)
        yield page
        place = page.pagination
        end = (place.endIndex or 0) if place else 0
        if pages is PageOpts.single or place is None or end <= offset or end >= (place.total or 0):
            return
        offset = end
