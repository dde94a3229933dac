"""The name that ``determined.common`` had before 0.14.6: the same objects."""

import sys

from determined.common import api, check, experimental, util

for _name, _module in (("api", api), ("check", check), ("experimental", experimental), ("util", util)):
    sys.modules[f"{__name__}.{_name}"] = _module

__all__ = ["api", "check", "experimental", "util"]
