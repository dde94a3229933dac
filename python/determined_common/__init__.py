"""The name that ``determined.common`` had before 0.14.6: the same objects."""

import sys

from determined.common import check

sys.modules[__name__ + ".check"] = check

__all__ = ["check"]
