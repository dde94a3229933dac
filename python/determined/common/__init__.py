"""What the client and the training side share."""

import logging

from determined.common import check


def set_logger(debug_enabled: bool) -> None:
    """Sends what this program logs to stderr, from INFO on, or from DEBUG on."""
    from determined import LOG_FORMAT

    logging.basicConfig(level=logging.DEBUG if debug_enabled else logging.INFO, format=LOG_FORMAT, force=True)


__all__ = ["check", "set_logger"]
