"""What may still change, under ``context.experimental``."""

from __future__ import annotations

from determined._tensorflow._data_layer import CachingContext


class TFKerasExperimentalContext(CachingContext):
    """Cached data sets."""
