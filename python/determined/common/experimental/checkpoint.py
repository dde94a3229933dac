"""The checkpoints of a master."""

from determined.experimental._checkpoint import Checkpoint
from determined.experimental._checkpoint_fields import CheckpointState, DownloadMode, ModelFramework
from determined.experimental._order import CheckpointOrderBy, CheckpointSortBy

__all__ = ["Checkpoint", "CheckpointOrderBy", "CheckpointSortBy", "CheckpointState", "DownloadMode", "ModelFramework"]
