"""The name that ``determined.common`` had before 0.14.6: the same objects."""

import sys

from determined.common import api, check, constants, experimental, util

for _name, _module in list(sys.modules.items()):
    if _name.startswith("determined.common."):
        sys.modules[_name.replace("determined.common", __name__, 1)] = _module

__all__ = ["api", "check", "constants", "experimental", "util"]
