"""What the client and the training side share."""

from determined.common import check

__all__ = ["check"]
