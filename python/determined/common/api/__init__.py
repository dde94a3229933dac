"""Talking to a master over HTTP."""

from determined.common.api import errors
from determined.common.api._authentication import TokenCache, password_hash
from determined.common.api._master import master_url
from determined.common.api._paging import PageOpts, read_paginated
from determined.common.api._session import Parameters, Session

__all__ = [
    "PageOpts",
    "Parameters",
    "Session",
    "TokenCache",
    "errors",
    "master_url",
    "password_hash",
    "read_paginated",
]
