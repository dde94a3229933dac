"""What the clients and the trials share."""

import logging

from determined.common import check


def set_logger(debug_enabled: bool) -> None:
    """Logs to stderr, from INFO on, or from DEBUG on."""
    from determined import LOG_FORMAT

    logging.basicConfig(level=logging.DEBUG if debug_enabled else logging.INFO, format=LOG_FORMAT, force=True)


__all__ = ["check", "set_logger"]
