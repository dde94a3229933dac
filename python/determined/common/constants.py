"""Constants of the platform for other programs."""

from determined.common import _context

MAX_CONTEXT_SIZE = _context.BYTES_MAX
"""The maximum size of all files of a model definition, in bytes."""
DEFAULT_DETERMINED_USER = "determined"
DEFAULT_DETERMINED_PASSWORD = ""
DEFAULT_CHECKPOINT_PATH = "checkpoints"
"""The default directory of downloaded checkpoints."""
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"
"""Where tasks see the ``host_path`` of a ``shared_fs``, if it is mounted in them."""
DEFAULT_DETIGNORE = _context._ALWAYS.splitlines()
"""Patterns of files that are never sent with a model definition."""

__all__ = [
    "DEFAULT_CHECKPOINT_PATH",
    "DEFAULT_DETERMINED_PASSWORD",
    "DEFAULT_DETERMINED_USER",
    "DEFAULT_DETIGNORE",
    "MAX_CONTEXT_SIZE",
    "SHARED_FS_CONTAINER_PATH",
]
