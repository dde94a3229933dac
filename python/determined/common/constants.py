"""Numbers and names that programs around the platform know."""

from determined.common import _context

MAX_CONTEXT_SIZE = _context.BYTES_MAX
"""The most that all files of a model definition may have together, in bytes."""
DEFAULT_DETERMINED_USER = "determined"
DEFAULT_DETERMINED_PASSWORD = ""
DEFAULT_CHECKPOINT_PATH = "checkpoints"
"""Where downloads of checkpoints go by default."""
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"
"""Where tasks see the ``host_path`` of a ``shared_fs``, if it is mounted for them."""
DEFAULT_DETIGNORE = _context._ALWAYS.splitlines()
"""Patterns of what is never sent with a model definition."""

__all__ = [
    "DEFAULT_CHECKPOINT_PATH",
    "DEFAULT_DETERMINED_PASSWORD",
    "DEFAULT_DETERMINED_USER",
    "DEFAULT_DETIGNORE",
    "MAX_CONTEXT_SIZE",
    "SHARED_FS_CONTAINER_PATH",
]
